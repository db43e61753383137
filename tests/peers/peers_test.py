# SPDX-License-Identifier: Apache-2.0
"""The harness of bench/peers, without any of the peers: turns, faults, medians, ratios, and what the page reads."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/peers"))
sys.dont_write_bytecode = True

import peers  # noqa: E402
import results  # noqa: E402
import turns  # noqa: E402

GOOD = """
import json, sys
print(json.dumps({"ready": True, "library": "lib 1", "parameters": %d}), flush=True)
done = 0
for line in sys.stdin:
    done += 1
    print(json.dumps({"ms": %s + done, "kernel_ms": 100, "roof_ms": 2}), flush=True)
print(json.dumps({"rss_peak_bytes": done}), flush=True)
"""


def worker(code):
    return [sys.executable, "-c", code]


def good(base=0, parameters=7):
    return worker(GOOD % (parameters, base))


class Turns(unittest.TestCase):
    def test_every_contender_has_every_turn(self):
        rounds = []
        found, failed = turns.take_turns([("a", good()), ("b", good(10))], 3, rounds.append)
        self.assertEqual(failed, {})
        self.assertEqual([turn["ms"] for turn in found["a"]["turns"]], [1, 2, 3])
        self.assertEqual([turn["ms"] for turn in found["b"]["turns"]], [11, 12, 13])
        self.assertEqual(found["b"]["last"], {"rss_peak_bytes": 3})
        self.assertEqual(rounds, [1, 2, 3])

    def test_who_fails_is_named_with_its_last_words_and_the_others_go_on(self):
        contenders = [
            ("dies", worker("import sys; sys.stderr.write('first\\nno memory left\\n'); sys.exit(3)")),
            ("chats", worker("print('hello')")),
            ("tires", worker("print('{\"library\": \"x\"}', flush=True); input(); raise SystemExit('tired')")),
            ("absent", ["/nowhere/to/be/found"]),
            ("good", good()),
        ]
        found, failed = turns.take_turns(contenders, 2)
        self.assertEqual(list(found), ["good"])
        self.assertEqual(len(found["good"]["turns"]), 2)
        self.assertEqual(failed["dies"], "dies: ended with status 3: no memory left")
        self.assertIn("expected a line of JSON, got 'hello'", failed["chats"])
        self.assertIn("tired", failed["tires"])
        self.assertIn("/nowhere", failed["absent"])

    def test_workers_never_work_at_the_same_time(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            code = ("import sys, time\nprint('{}', flush=True)\nfor line in sys.stdin:\n"
                    f"    f = open({str(log)!r}, 'a'); f.write('+'); f.flush(); time.sleep(0.02); f.write('-'); f.close()\n"
                    "    print('{}', flush=True)\nprint('{}')")
            turns.take_turns([("a", worker(code)), ("b", worker(code))], 4)
            self.assertEqual(log.read_text(), "+-" * 8)


class Results(unittest.TestCase):
    def result(self, times, **last):
        return {"ready": {"library": "lib 1"}, "turns": [{"ms": t, "kernel_ms": t / 2, "roof_ms": 1} for t in times],
                "last": last}

    def test_medians_scatter_and_the_roof(self):
        line = results.row("x", self.result([4, 2, 8], rss_peak_bytes=5))
        self.assertEqual((line["ms"], line["scatter"]), (4, 1.5))
        self.assertNotIn("percent_of_roof", line)
        self.assertEqual(line["rss_peak_bytes"], 5)
        kernel = results.row("x", self.result([4, 2, 8]), "kernel_ms")
        self.assertEqual((kernel["ms"], kernel["percent_of_roof"]), (2, 50))

    def test_ratios_are_to_the_named_row(self):
        rows = [results.row("Tare", self.result([2], rss_peak_bytes=10)),
                results.row("other", self.result([3], rss_peak_bytes=25))]
        rows = results.compare(rows, "Tare")
        self.assertNotIn("ratio", rows[0])
        self.assertEqual((rows[1]["ratio"], rows[1]["against"], rows[1]["rss_ratio"]), (1.5, "Tare", 2.5))
        alone = results.compare([results.row("other", self.result([3]))], "Tare")
        self.assertNotIn("ratio", alone[0])

    def test_the_table_shows_what_was_and_what_was_not_measured(self):
        rows = results.compare([results.row("Tare", self.result([2])),
                                results.row("Tare, without the norm", self.result([2]), "kernel_ms"),
                                results.row("other", self.result([3]))], "Tare")
        text = results.table([{"title": "A part", "rows": rows}], {"A part: third": "third: no module"})
        for words in ("A part", "  other", "1.500", "100.0%", "not measured: third: no module"):
            self.assertIn(words, text)


class Command(unittest.TestCase):
    def run_peers(self, *words):
        return subprocess.run([sys.executable, str(ROOT / "bench/peers/peers.py"), *words], capture_output=True, text=True)

    def test_options_are_checked(self):
        for words, fault in ((["--rounds", "0"], "at least 1"), (["--text", "/nowhere"], "no such file"),
                             (["--model", "bert"], "invalid choice")):
            run = self.run_peers(*words)
            self.assertEqual(run.returncode, 2)
            self.assertIn(fault, run.stderr)

    def test_every_part_compares_with_tare(self):
        options = peers.parse(["--threads", "2"])
        for _, contenders in [("step", peers.step_contenders(options)), *peers.update_groups(options)]:
            self.assertTrue(contenders[0][0].startswith("Tare"))
            for name, command in contenders:
                self.assertIn("--threads", command, name)

    def test_models_of_different_sizes_are_no_comparison(self):
        found, _ = turns.take_turns([("a", good(0, 7)), ("b", good(0, 8))], 1)
        self.assertIn("models of different sizes", peers.check_sizes(found))
        failed = {}
        part = peers.measure("A part", [("a", good(0, 7)), ("b", good(0, 8))], 1, failed)
        self.assertEqual(part["rows"], [])
        self.assertIn("different sizes", failed["A part"])

    def test_without_an_index_the_fault_is_clear(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "bench").mkdir()
            (place / "bench/peers").mkdir()
            for file in ("run", "requirements.txt"):
                (place / "bench/peers" / file).write_bytes((ROOT / "bench/peers" / file).read_bytes())
            environment = {"PATH": "/usr/bin:/bin", "PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_RETRIES": "0",
                           "PIP_CONFIG_FILE": "/dev/null", "HOME": folder}
            run = subprocess.run(["bash", str(place / "bench/peers/run")], capture_output=True, text=True, env=environment)
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr, "pip could not install the peers|python3 has no venv module")
            self.assertFalse((place / "build/peers/venv/installed.txt").exists())

    def test_the_page_takes_the_report(self):
        tare = ROOT / "build/bin/tare"
        if len(sys.argv) > 1:
            tare = Path(sys.argv[1])
        rows = results.compare([results.row("Tare", Results().result([2.125])), results.row("b", Results().result([3]))],
                               "Tare")
        report = results.report([{"title": "A part", "rows": rows}], {}, {}, {}, "bench/peers/run", "2026")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "peers.json"
            file.write_text(json.dumps(report))
            # The peers are read before the training begins, so a fault of theirs would be told instead of this one.
            run = subprocess.run([tare, "bench", "optimizers", "--optimizers", "adamw", "--text", "/nowhere", "--report",
                                  str(Path(folder) / "x.html"), "--peers", str(file)], capture_output=True, text=True)
            self.assertNotIn("peers.json", run.stderr)
            file.write_text("{}")
            run = subprocess.run([tare, "bench", "optimizers", "--optimizers", "adamw", "--text", "/nowhere", "--report",
                                  str(Path(folder) / "x.html"), "--peers", str(file)], capture_output=True, text=True)
            self.assertIn("not what bench/peers/run writes", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
