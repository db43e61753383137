// SPDX-License-Identifier: Apache-2.0
// HTML and SVG by elements: what is opened is closed, and text cannot become markup.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare::bench {

// & < > " ' as entities; control bytes, which no document may hold, as U+FFFD.
std::string escaped(std::string_view text);
// At most two decimals, without zeros at the end: coordinates.
std::string coordinate(double value);

struct Attribute {
  Attribute(std::string name, std::string_view value) : name(std::move(name)), value(value) {}
  Attribute(std::string name, double value) : name(std::move(name)), value(coordinate(value)) {}
  std::string name, value;
};
using Attributes = std::vector<Attribute>;

class Markup {
 public:
  void open(std::string_view tag, const Attributes& attributes = {});
  void close();  // the element that was opened last; Error when there is none
  void text(std::string_view text);
  void leaf(std::string_view tag, const Attributes& attributes, std::string_view text);
  void single(std::string_view tag, const Attributes& attributes);  // <br>, <meta>, <circle/>
  void declaration(std::string_view text);                          // as it stands, on a line
  void style(std::string_view css);                                 // as it stands: no text from outside
  std::string finish();  // the document; Error when an element is still open

 private:
  void begin(std::string_view tag, const Attributes& attributes);
  std::string out_;
  std::vector<std::string> open_;
};

// Opens an element, and closes it at the end of a block.
class Element {
 public:
  Element(Markup& out, std::string_view tag, const Attributes& attributes = {}) : out_(out) {
    out_.open(tag, attributes);
  }
  ~Element() { out_.close(); }
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;

 private:
  Markup& out_;
};

}  // namespace tare::bench
