#!/usr/bin/env python3
"""The program's frame: flags, configuration, help, JSON, exit codes, odd surroundings.

usage: cli_test.py GNNRUN
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from program import PROGRAM as GNNRUN
from program import start

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs" / "config.md"
COMMANDS = ("import", "generate", "info", "infer", "export", "model", "report",
            "doctor")


def run(*words, env=None, **more):
    return start(*words, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, **more)


def documented():
    """(name, commands) of each row of docs/config.md."""
    for line in DOCS.read_text().split("\n"):
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)]
        if len(cells) > 5 and cells[1].startswith("`"):
            takers = COMMANDS if cells[4] == "all" else cells[4].split(", ")
            yield cells[1].strip("`"), takers, "Command line only" in cells[5]


def settings(text):
    """The lines of a print-out as a dictionary, without comments."""
    rows = (re.match(r"([\w-]+): (.*?)  # (.*)$", line) for line in text.split("\n"))
    return {m[1]: m[2] for m in rows if m}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gnnrun-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, text):
        pathlib.Path(self.path(name)).write_text(text)
        return self.path(name)

    def text(self, name):
        return pathlib.Path(self.path(name)).read_text()

    def ends(self, code, r, says=""):
        """Exit code, and one line `gnnrun: ...` on stderr that contains `says`."""
        self.assertEqual(r.returncode, code, r.stderr)
        if code:
            lines = [x for x in r.stderr.split("\n") if x.startswith("gnnrun: ")]
            self.assertEqual(len(lines), 1, r.stderr)
            self.assertIn(says, lines[0])


class Help(Case):
    def test_every_option_is_in_the_help_of_its_commands(self):
        rows = list(documented())
        self.assertGreater(len(rows), 40)
        for command in COMMANDS:
            r = run(command, "--help")
            self.ends(0, r)
            self.assertEqual(r.stderr, "")
            shown = set(re.findall(r"^  --(?:\[no-\])?([\w-]+)", r.stdout, re.M))
            wanted = {name for name, takers, _ in rows if command in takers}
            self.assertEqual(shown, wanted, command)
            self.assertLessEqual(max(map(len, r.stdout.split("\n"))), 90, command)

    def test_the_docs_are_generated_from_the_table(self):
        r = run("--dump-options-md")
        self.ends(0, r)
        self.assertEqual(r.stdout, DOCS.read_text(), "gnnrun --dump-options-md > docs/config.md")

    def test_the_program_lists_its_commands(self):
        for words in (["--help"], ["-h"]):
            r = run(*words)
            self.ends(0, r)
            for command in COMMANDS:
                self.assertRegex(r.stdout, rf"(?m)^  {command} ")

    def test_version(self):
        r = run("--version")
        self.ends(0, r)
        self.assertRegex(r.stdout, r"^gnnrun \d+\.\d+\.\d+\n$")
        for words in (("--version", "--json"), ("--json", "--version")):
            j = run(*words)
            self.ends(0, j)
            self.assertEqual(j.stdout.count("\n"), 1)
            self.assertEqual("gnnrun " + json.loads(j.stdout)["version"], r.stdout.rstrip())

    def test_hidden_options_are_hidden(self):
        self.assertNotIn("faults", run("infer", "--help").stdout + DOCS.read_text())


class Usage(Case):
    def test_nothing_to_do(self):
        self.ends(64, run(), "--help")

    def test_the_nearest_flag_and_command_are_named(self):
        self.ends(64, run("doctor", "--treads", "2"), "--threads")
        self.ends(64, run("infer", "g.h5", "--chunk_bytes", "8M"), "--chunk-bytes")
        self.ends(64, run("infr", "g.h5"), "'infer'")

    def test_an_option_of_another_command(self):
        self.ends(64, run("import", "a", "b", "--predict"), "is an option of infer")

    def test_numbers_of_arguments(self):
        self.ends(64, run("infer"), "STORE.h5")
        self.ends(64, run("import", "a"), "SOURCE STORE.h5")
        self.ends(64, run("export", "a", "b", "c"), "'c'")

    def test_values(self):
        for words, says in ((["--threads", "0x2"], "found '0x2'"),
                            (["--host-memory", "8 M"], "a size such as"),
                            (["--io", "aio"], "auto|uring|pread"),
                            (["--faults", "read:what@1"], "'read:what@1'")):
            self.ends(64, run("doctor", *words), says)


class Config(Case):
    def test_sources(self):
        path = self.file("c.yaml", "threads: 3\nseed: 4\n")
        r = run("doctor", "--config", path, "--seed=5", "--print-config")
        self.ends(0, r)
        self.assertIn("threads: 3  # file, line 1\n", r.stdout)
        self.assertIn("seed: 5  # command line\n", r.stdout)
        self.assertIn("io: auto  # default\n", r.stdout)

    def test_the_file_is_obeyed(self):
        path = self.file("c.yaml", "threads: 3\njson: on\n")
        self.assertEqual(json.loads(run("doctor", "--config", path).stdout)["threads"], 3)

    def test_errors_name_file_and_line(self):
        path = self.file("c.yaml", "seed: 1\nthreds: 3\n")
        self.ends(78, run("doctor", "--config", path), f"{path}:2: there is no option threds; "
                  "the nearest is threads")
        path = self.file("c.yaml", "seed: 1\nseed: 3\n")
        self.ends(78, run("doctor", "--config", path), f"{path}:2: seed")
        self.ends(66, run("doctor", "--config", self.path("none.yaml")), "none.yaml")

    def test_what_is_printed_reads_back(self):
        given = {
            "import": ["--features", "a b.npy", "--dedup", "--vertices", "7", "--edge-layout",
                       "Ex2", "--weight-column=3", "--feature-dtype", "f16"],
            "generate": ["--scale", "4", "--no-shuffle", "--mixing", "1e-3", "--noise", ".25"],
            "info": ["--verify"],
            "infer": ["--model", 'quo"te\\d.safetensors', "--out", "caf\u00e9.h5",
                      "--chunk-bytes", "1.5M", "--model-set", "heads=8,1", "--model-set",
                      "library=pyg", "--verify-reads", "off", "--predict"],
            "export": ["--dataset", "layer/1"],
            "model": [],
            "doctor": ["--host-memory", "3G", "--scratch", "/tmp", "--metrics", "m.jsonl"],
        }
        for command, words in given.items():
            first = run(command, *words, "--print-config", cwd=self.folder)
            self.ends(0, first)
            self.assertIn("# command line" if words else "# default", first.stdout)
            saved = self.file("saved.yaml", first.stdout)
            second = run(command, "--config", saved, "--print-config", cwd="/")
            self.ends(0, second)
            self.assertEqual(settings(first.stdout), settings(second.stdout))
            self.assertNotIn("# command line", second.stdout)
            self.assertEqual(set(re.findall(r"^(?:# )?([\w-]+): ", second.stdout, re.M)),
                             {n for n, takers, no_file in documented()
                              if command in takers and not no_file})


class Output(Case):
    def test_json_is_one_object_and_nothing_else(self):
        r = run("doctor", self.folder, "--json", "--log", "debug")
        self.ends(0, r)
        self.assertEqual(r.stdout.count("\n"), 1)
        found = json.loads(r.stdout, parse_constant=lambda name: self.fail(name))
        self.assertEqual(found["command"], "doctor")
        self.assertEqual(found["folder"], self.folder)
        for key in ("gpu", "io_uring", "direct_io"):
            self.assertIsInstance(found[key], bool)
        self.assertEqual(found["gpu"], found["gpu_why"] is None)
        chip = found["processor"]
        self.assertGreaterEqual(chip["hardware_threads"], chip["cores"])
        self.assertGreaterEqual(chip["cores"], chip["packages"])
        self.assertEqual([c["level"] for c in chip["caches"]], [1, 2, 3])
        self.assertEqual(os.listdir(self.folder), [])

    def test_doctor_for_people(self):
        r = run("doctor", self.folder)
        self.ends(0, r)
        for word in ("kernel", "cores", "processor", "NUMA nodes", "caches", "memory", "memlock",
                     "BLAS", "HDF5", "liburing", "GPU", "O_DIRECT", "io_uring"):
            self.assertIn(word, r.stdout)

    def test_a_folder_that_cannot_be_tried(self):
        self.ends(73, run("doctor", self.path("none")), "none")

    def test_a_budget_that_is_too_small(self):
        self.ends(71, run("doctor", self.folder, "--host-memory", "1K"), "--host-memory")

    def test_every_allocation_may_be_refused(self):
        for n in range(1, 1000):
            r = run("doctor", self.folder, "--json", "--metrics", self.path("m"), "--faults",
                    f"alloc:fail@{n}")
            if r.returncode == 0:
                break
            self.ends(71, r, "memory")
        self.assertGreater(n, 10)
        json.loads(r.stdout)

    def test_metrics_and_trace(self):
        r = run("doctor", self.folder, "--metrics", self.path("m.jsonl"), "--trace",
                self.path("t.json"), "--threads", "1")
        self.ends(0, r)
        lines = [json.loads(x) for x in self.text("m.jsonl").splitlines()]
        self.assertEqual([x["event"] for x in lines], ["start", "usage", "end"])
        self.assertEqual(lines[0]["threads"], 1)
        self.assertEqual(lines[-1]["exit_code"], 0)
        self.assertEqual(len({x["run_id"] for x in lines}), 1)
        events = json.loads(self.text("t.json"))
        self.assertIn("doctor", [e["name"] for e in events if e["ph"] == "X"])

    def test_metrics_do_not_replace_a_file_of_another_kind(self):
        path = self.file("precious.h5", "\x89HDF")
        for option in ("--metrics", "--trace"):
            self.ends(73, run("doctor", self.folder, option, path), "precious.h5")
        self.assertEqual(self.text("precious.h5"), "\x89HDF")

    def test_metrics_that_cannot_be_written(self):
        self.ends(74, run("doctor", self.folder, "--metrics", "/dev/full"), "/dev/full")


class Surroundings(Case):
    def test_a_reader_that_went_away(self):
        with subprocess.Popen([GNNRUN, "doctor", self.folder], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as p:
            p.stdout.close()
            text = p.stderr.read()
            self.assertEqual(p.wait(60), 74, text)
        self.assertIn("standard output", text)

    def test_standard_output_is_full(self):
        with open("/dev/full", "w") as full:
            r = subprocess.run([GNNRUN, "doctor", self.folder], stdout=full,
                               stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.ends(74, r, "No space left")

    def test_closed_descriptors(self):
        shell = f'exec "{GNNRUN}" doctor "{self.folder}" --metrics "{self.path("m")}"'
        for closed, code in (("<&-", 0), (">&-", 74), ("2>&-", 0), ("<&- 2>&-", 0),
                             ("<&- >&- 2>&-", 74)):
            r = subprocess.run(["sh", "-c", f"{shell} {closed}"], capture_output=True,
                               text=True, timeout=60, check=False)
            self.assertEqual(r.returncode, code, closed + r.stderr)
            for line in self.text("m").splitlines():
                json.loads(line)  # neither results nor messages went into it

    def test_an_empty_environment(self):
        r = subprocess.run([GNNRUN, "doctor", "--json"], capture_output=True, text=True, env={},
                           stdin=subprocess.DEVNULL, timeout=60, check=False, cwd=self.folder)
        self.ends(0, r)
        json.loads(r.stdout)

    def test_a_locale_with_a_decimal_comma(self):
        for name in ("de_DE", "de_DE.UTF-8"):
            r = run("generate", "sbm", "g.h5", "--mixing", "0.125", "--print-config",
                    env={"LC_ALL": name, "LANG": name})
            self.ends(0, r)
            self.assertIn("mixing: 0.125 ", r.stdout)

    def test_a_working_folder_that_is_gone(self):
        gone = self.path("gone")
        os.mkdir(gone)
        r = subprocess.run(["sh", "-c", f'rmdir "{gone}"; exec "{GNNRUN}" doctor --json'],
                           cwd=gone, capture_output=True, text=True, timeout=60, check=False)
        self.ends(0, r)
        self.assertIsNotNone(json.loads(r.stdout)["folder_why"])

    def test_lone_ranks_of_a_launcher_are_refused(self):
        for env in ({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "2"},
                    {"OMPI_COMM_WORLD_SIZE": "2"}):
            start = time.monotonic()
            self.ends(78, run("doctor", env=env), "--allow-singleton")
            self.assertLess(time.monotonic() - start, 5.0)
            self.ends(0, run("doctor", self.folder, "--allow-singleton", env=env))
            self.ends(0, run("doctor", "--help", env=env))
        self.ends(0, run("doctor", self.folder, env={"SLURM_STEP_NUM_TASKS": "1",
                                                     "SLURM_NTASKS": "4"}))

    def test_waiting_threads_sleep_unless_told_otherwise(self):
        known = {k: v for k, v in os.environ.items()
                 if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        for chosen, wanted in (({}, "'1000'"), ({"GOMP_SPINCOUNT": "77"}, "'77'"),
                               ({"OMP_WAIT_POLICY": "passive"}, "'0'")):
            r = start("--version", env={**known, "OMP_DISPLAY_ENV": "verbose", **chosen})
            self.ends(0, r)
            if "GOMP_SPINCOUNT" not in r.stderr:
                self.skipTest("this OpenMP does not show how it waits")
            last = [x for x in r.stderr.split("\n") if "GOMP_SPINCOUNT" in x][-1]
            self.assertIn(wanted, last, chosen)

    def test_threads_follow_the_affinity_mask(self):
        core = min(os.sched_getaffinity(0))
        r = run("doctor", self.folder, "--json",
                preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        self.assertEqual(json.loads(r.stdout)["threads"], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
