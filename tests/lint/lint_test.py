# SPDX-License-Identifier: Apache-2.0
"""The lint finds faults that are planted, and is silent on code that is right."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cmake" / "lint"))

import check_hot_loops  # noqa: E402
import check_includes  # noqa: E402
import check_names  # noqa: E402
import check_sizes  # noqa: E402
import check_snippets  # noqa: E402
from source_tree import code_only  # noqa: E402

TOP = "// SPDX-License-Identifier: Apache-2.0\n// A file.\n#pragma once\n"


def includes(name, *lines):
    return list(check_includes.faults(name, "".join(f"#include {line}\n" for line in lines)))


def function(lines, signature="void f()"):
    return signature + " {\n" + "  g();\n" * (lines - 2) + "}\n"


class Includes(unittest.TestCase):
    def test_folders_follow_the_table(self):
        self.assertEqual(includes("kernels/cpu/a.cpp", "<cmath>", '"tare/kernels/a.h"', '"tare/core/tensor.h"'), [])
        self.assertEqual(len(includes("core/a.cpp", '"tare/kernels/a.h"')), 1)
        self.assertEqual(len(includes("nn/a.cpp", '"tare/kernels/a.h"')), 1)
        self.assertEqual(len(includes("data/a.h", '"tare/autograd/var.h"')), 1)

    def test_optimizers_know_var_and_no_more_of_autograd(self):
        self.assertEqual(includes("optim/a.cpp", '"tare/autograd/var.h"'), [])
        self.assertEqual(len(includes("optim/a.cpp", '"tare/autograd/ops.h"')), 1)

    def test_headers_of_other_libraries_stay_at_home(self):
        self.assertEqual(includes("kernels/cuda/a.cu", "<cuda_runtime.h>"), [])
        self.assertEqual(len(includes("kernels/a.cpp", "<cuda_runtime.h>")), 1)
        self.assertEqual(len(includes("core/tensor.cpp", "<omp.h>")), 1)
        self.assertEqual(len(includes("nn/a.cpp", "<CLI/CLI.hpp>")), 1)
        self.assertEqual(len(includes("nn/a.h", "<nlohmann/json.hpp>")), 1)

    def test_product_never_includes_tests_or_relative_paths(self):
        self.assertEqual(len(includes("kernels/a.cpp", '"tests/ref/a.h"')), 1)
        self.assertEqual(len(includes("kernels/a.cpp", '"a.h"')), 1)


class Sizes(unittest.TestCase):
    def faults(self, name, body):
        return list(check_sizes.faults(name, TOP + body))

    def test_long_functions(self):
        self.assertEqual(self.faults("core/a.h", function(60)), [])
        self.assertEqual(len(self.faults("core/a.h", function(61))), 1)
        self.assertEqual(self.faults("kernels/a.h", function(120)), [])
        self.assertEqual(len(self.faults("kernels/a.h", function(121))), 1)

    def test_long_functions_in_any_dress(self):
        for signature in ("A::A(int x) : a_(x), b_{x}", "template <class T>\nauto f(T x) -> int", "int g() const noexcept",
                          "namespace n {\nstruct S {\n  bool operator==(const S& o) const", "MACRO(a, b)\nvoid f(int x)",
                          "TEST(Case, Name)", "bool operator()(int x) const"):
            self.assertEqual(len(self.faults("core/a.h", function(61, signature))), 1, signature)

    def test_classes_and_namespaces_are_no_functions(self):
        self.assertEqual(self.faults("core/a.h", "namespace n {\nclass A : public B {\n" + "  int a;\n" * 100 + "};\n}\n"), [])
        self.assertEqual(self.faults("core/a.h", "const int k[] = {\n" + "  1,\n" * 100 + "};\n"), [])

    def test_long_files(self):
        self.assertEqual(self.faults("core/a.h", "int a;\n" * 690), [])
        self.assertEqual(len(self.faults("core/a.h", "int a;\n" * 698)), 1)
        self.assertEqual(self.faults("tests/core/a.h", "int a;\n" * 698), [])

    def test_many_parameters(self):
        eight = ", ".join(f"std::map<int, int> p{i}" for i in range(8))
        self.assertEqual(self.faults("core/a.h", f"void f({eight}) {{}}\n"), [])
        self.assertEqual(len(self.faults("core/a.h", f"void f({eight}, int q) {{}}\n")), 1)

    def test_first_lines(self):
        self.assertEqual(len(list(check_sizes.faults("core/a.cpp", "// Copyright\n"))), 1)
        self.assertEqual(len(list(check_sizes.faults("core/a.h", "// SPDX-License-Identifier: Apache-2.0\n// A.\n"))), 1)


class Names(unittest.TestCase):
    def test_empty_words(self):
        for name in ("fast_path", "FastPath", "make_new_tensor", "adamw_v2", "TensorHelper", "io_util"):
            self.assertEqual(len(list(check_names.faults("core/a.h", f"int {name};\n"))), 1, name)
        self.assertEqual(len(list(check_names.faults("core/string_utils.h", ""))), 1)

    def test_keywords_comments_and_parts_of_words(self):
        self.assertEqual(list(check_names.faults("core/a.h", "int* p = new int; // a new helper\n")), [])
        self.assertEqual(list(check_names.faults("core/a.h", "int renewed, breakfast, newton_step; s = \"fast\";\n")), [])


class Text(unittest.TestCase):
    def test_literals_and_comments_are_blanked_line_for_line(self):
        source = 'a = "{ // }"; /* {\n{ */ b = \'{\'; c = 1\'000; d = R"({\n)"; // {\n'
        code = code_only(source)
        self.assertEqual(code.count("\n"), source.count("\n"))
        self.assertNotIn("{", code)
        self.assertIn("1'000", code)


class HotLoops(unittest.TestCase):
    def test_simd_pragmas_are_seen(self):
        for line in ("#pragma omp simd reduction(+ : sum)", "#pragma omp for simd", "TARE_SIMD"):
            self.assertTrue(check_hot_loops.SIMD.search(line), line)
        self.assertFalse(check_hot_loops.SIMD.search("#pragma omp parallel for"))

    def test_loops_reach_to_the_end_of_their_statement(self):
        loops = check_hot_loops.simd_loops("kernels/cpu/softmax.cpp", "softmax_forward_rows")
        self.assertGreaterEqual(len(loops), 3)
        for first, last in loops:
            self.assertGreaterEqual(last, first)

    def test_instances_are_told_apart_by_isa_and_type(self):
        head = ";; Function tare::detail::run_{}<tare::{{anonymous}}::body<{}>, const float*> (_Z, funcdef_no=1, x)\n"
        line = str(check_hot_loops.ROOT / "kernels/a.cpp") + ":7:3: optimized: loop vectorized using {} byte vectors\n"
        dump = [head.format("v3", "float"), line.format(32), line.format(16), head.format("base", "float"),
                line.format(16), head.format("v4", "double")]
        report = check_hot_loops.read_dump(dump, ".")
        self.assertEqual(sorted(map(len, report.values())), [0, 1])
        name = next(n for n in report if "run_v3" in n)
        self.assertEqual(report[name], {("kernels/a.cpp", 7): 32})
        self.assertEqual(check_hot_loops.template_arguments(name, "body"), "float")
        self.assertIsNone(check_hot_loops.template_arguments(name, "bod"))


class Snippets(unittest.TestCase):
    def test_quotes_are_compared_with_the_file(self):
        self.assertIsNone(check_snippets.quotes("namespace tare {\n// ...\n}  // namespace tare\n", "core/version.cpp"))
        self.assertIsNotNone(check_snippets.quotes("namespace tare {\nint version;\n", "core/version.cpp"))
        self.assertIsNotNone(check_snippets.quotes("int a;\n", "core/there_is_no_such_file.cpp"))


if __name__ == "__main__":
    unittest.main()
