// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/report/markup.h"

#include <cstdio>

#include "tare/core/error.h"

namespace tare::bench {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
          result += "\uFFFD";  // no document may hold it
        else
          result += c;
    }
  return result;
}

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string result = text;
  result.erase(result.find_last_not_of('0') + 1);
  if (result.back() == '.') result.pop_back();
  return result == "-0" ? "0" : result;
}

void Markup::begin(std::string_view tag, const Attributes& attributes) {
  out_ += "<";
  out_ += tag;
  for (const Attribute& a : attributes) out_ += " " + a.name + "=\"" + escaped(a.value) + "\"";
}

void Markup::open(std::string_view tag, const Attributes& attributes) {
  begin(tag, attributes);
  out_ += ">";
  open_.emplace_back(tag);
}

void Markup::close() {
  TARE_CHECK(!open_.empty(), "markup: no element is open");
  out_ += "</" + open_.back() + ">\n";
  open_.pop_back();
}

void Markup::text(std::string_view text) { out_ += escaped(text); }

void Markup::leaf(std::string_view tag, const Attributes& attributes, std::string_view content) {
  open(tag, attributes);
  text(content);
  close();
}

void Markup::single(std::string_view tag, const Attributes& attributes) {
  begin(tag, attributes);
  out_ += "/>\n";
}

void Markup::declaration(std::string_view text) {
  out_ += text;
  out_ += "\n";
}

void Markup::style(std::string_view css) {
  open("style");
  out_ += css;
  close();
}

std::string Markup::finish() {
  TARE_CHECK(open_.empty(), "markup: <", open_.back(), "> is still open");
  return std::move(out_);
}

}  // namespace tare::bench
