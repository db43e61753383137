# SPDX-License-Identifier: Apache-2.0
"""Programs that take turns: each says that it is ready, then does one piece of work for each line it is given.

A worker writes lines of JSON: {"ready": true, ...}, then one object for each line on its stdin, and one more when its
stdin closes. What it writes to stderr goes to a file, whose end is told when it fails.
"""

import json
import os
import subprocess
import tempfile


class WorkerError(Exception):
    """A worker ended early or said what is no JSON."""


class Worker:
    def __init__(self, name, command, environment=None):
        self.name = name
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                                         text=True, env={**os.environ, **(environment or {})})
        try:
            self.ready = self._read()
        except WorkerError:
            self.kill()
            raise

    def _read(self):
        line = self._process.stdout.readline()
        try:
            return json.loads(line)
        except json.JSONDecodeError:
            raise WorkerError(self._fault(line)) from None

    def _fault(self, line):
        if not line:
            self._process.wait()
        self._log.seek(0)
        words = [text for text in self._log.read().splitlines() if text.strip()]
        said = words[-1] if words else "it said nothing"
        if line:
            return f"{self.name}: expected a line of JSON, got {line.strip()!r}"
        return f"{self.name}: ended with status {self._process.returncode}: {said}"

    def turn(self):
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(self._fault("")) from None
        return self._read()

    def finish(self):
        """What the worker says at its end."""
        self._process.stdin.close()
        last = self._read()
        self._process.wait()
        return last

    def kill(self):
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._log):
            try:
                file.close()
            except BrokenPipeError:  # what it was last told was never read
                pass


def take_turns(contenders, rounds, on_round=lambda done: None):
    """Starts every contender, (name, command), and lets them take turns.

    Returns {name: {"ready": ..., "turns": [...], "last": ...}}, and {name: what went wrong} of those that failed; the
    others go on without them. The order turns round by one each time, so that none always follows the same one.
    """
    workers, failed = [], {}
    for name, command in contenders:
        try:
            workers.append(Worker(name, command))
        except (WorkerError, OSError) as error:
            failed[name] = str(error)
    results = {worker.name: {"ready": worker.ready, "turns": []} for worker in workers}
    for i in range(rounds):
        shift = i % max(1, len(workers))
        for worker in workers[shift:] + workers[:shift]:
            if worker.name in failed:
                continue
            try:
                results[worker.name]["turns"].append(worker.turn())
            except WorkerError as error:
                failed[worker.name] = str(error)
        on_round(i + 1)
    for worker in workers:
        try:
            if worker.name not in failed:
                results[worker.name]["last"] = worker.finish()
        except WorkerError as error:
            failed[worker.name] = str(error)
        finally:
            worker.kill()
    return {name: result for name, result in results.items() if name not in failed}, failed
