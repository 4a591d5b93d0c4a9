# SPDX-License-Identifier: MIT
"""The recorders that are compared. Each is a context: recording while inside it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time


def other_cpu(arguments):
    """Runs the command beside the ping-pong of CPU 0, where there is another CPU."""
    cpus = sorted(os.sched_getaffinity(0))
    return (["taskset", "-c", str(cpus[-1])] if len(cpus) > 1 else []) + arguments


def await_true(what, condition):
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"bench: {what}: does not happen")
        time.sleep(0.005)


def find_offcputime():
    return shutil.which("offcputime", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Recorder:
    """A process that records from __enter__ on, until a SIGINT."""

    process = None
    stop_seconds = 0.0

    def __exit__(self, kind, value, trace):
        begin = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()
        self.stop_seconds = time.monotonic() - begin

    def lost_events(self):
        return 0


class Offcpu(Recorder):
    def __init__(self, build, folder, options, watch_memory=False):
        self.program = f"{build}/offcpu"
        self.folder = folder
        self.options = options
        self.watch_memory = watch_memory
        self.cpu_seconds = 0.0
        self.peak_bytes = 0

    @staticmethod
    def file(folder):
        return f"{folder}/bench.pb"

    def __enter__(self):
        command = [self.program, "record", "-v", "--force", "-o", self.file(self.folder), *self.options]
        self.process = subprocess.Popen(other_cpu(command), stdin=subprocess.DEVNULL, text=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = []
        for line in self.process.stderr:
            if line == "offcpu: recording\n":
                break
            said.append(line)
        else:
            sys.exit("bench: offcpu does not record:\n" + "".join(said))
        self.cpu_begin = self.cpu_time()
        if self.watch_memory:
            threading.Thread(target=self.watch, daemon=True).start()
        return self

    def __exit__(self, kind, value, trace):
        self.cpu_seconds = self.cpu_time() - self.cpu_begin
        super().__exit__(kind, value, trace)

    def cpu_time(self):
        """Of all threads so far, from the scheduler's nanoseconds."""
        folder = f"/proc/{self.process.pid}/task"
        total = 0
        for tid in os.listdir(folder):
            with open(f"{folder}/{tid}/schedstat") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def watch(self):
        """Follows the resident memory, without the rings, to the end."""
        while True:
            try:
                with open(f"/proc/{self.process.pid}/smaps") as file:
                    self.peak_bytes = max(self.peak_bytes, resident(file))
            except (FileNotFoundError, ProcessLookupError):
                return
            time.sleep(0.005)

    def info(self):
        text = subprocess.run([self.program, "info", "--format", "json", self.file(self.folder)],
                              stdout=subprocess.PIPE, check=True).stdout
        return json.loads(text)

    def lost_events(self):
        return self.info()["losses"]["events"]


class Waiting:
    """A process whose threads all wait until it is told to end."""

    def __init__(self, build, threads):
        self.command = [f"{build}/programs/contention", str(threads), "1"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        if not any(line == "ready\n" for line in self.process.stdout):
            sys.exit("bench: the program contention does not start")
        return self.process

    def __exit__(self, kind, value, trace):
        self.process.communicate("\n")


def resident(smaps):
    """Bytes of resident memory in a smaps file, but for perf's rings."""
    total = 0
    ring = False
    for line in smaps:
        first, *rest = line.split()
        if not first.endswith(":"):
            ring = "[perf_event]" in line
        elif first == "Rss:" and not ring:
            total += int(rest[0]) * 1024
    return total


class Offcputime(Recorder):
    def __init__(self, folder, *options):
        self.folder = folder
        self.options = options

    def __enter__(self):
        command = [find_offcputime(), "--stack-storage-size", "16384", *self.options]
        with open(f"{self.folder}/offcputime.txt", "w") as out:
            self.process = subprocess.Popen(other_cpu(command), stdout=out, stderr=subprocess.DEVNULL)
        await_true("offcputime attaches its program", self.attached)
        return self

    def attached(self):
        if self.process.poll() is not None:
            sys.exit("bench: offcputime does not run here")
        folder = f"/proc/{self.process.pid}/fdinfo"
        for descriptor in os.listdir(folder):
            try:
                with open(f"{folder}/{descriptor}") as file:
                    if "link_type:" in file.read():
                        return True
            except FileNotFoundError:
                pass
        return False


class PerfRecord(Recorder):
    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        control_read, control_write = os.pipe()
        ack_read, ack_write = os.pipe()
        command = ["perf", "record", "-q", "-a", "-g", "-e", "sched:sched_switch", "-D", "-1",
                   f"--control=fd:{control_read},{ack_write}", "-o", f"{self.folder}/perf.data"]
        self.process = subprocess.Popen(other_cpu(command), pass_fds=(control_read, ack_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(control_read)
        os.close(ack_write)
        os.write(control_write, b"enable\n")
        if not os.read(ack_read, 64).startswith(b"ack"):
            sys.exit("bench: perf record does not run here")
        self.pipes = (control_write, ack_read)
        return self

    def __exit__(self, kind, value, trace):
        super().__exit__(kind, value, trace)
        for descriptor in self.pipes:
            os.close(descriptor)
