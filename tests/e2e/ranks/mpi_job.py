"""A model that mpirun's processes share, on this host or on several; of a build with -DENABLE_MPI=ON."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from server_process import MODEL, ServerProcess, clean_environment, program

ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# mpirun hears of a host that is cut off by keepalives of TCP; by default only after seven minutes. In seconds and probes.
KEEPALIVE = {"oob_tcp_keepalive_time": 2, "oob_tcp_keepalive_intvl": 1, "oob_tcp_keepalive_probes": 3}


def missing() -> str:
    """Why there can be no job here; empty if there can."""
    if shutil.which("mpirun") is None:
        return "there is no mpirun"
    shown = subprocess.run([program("inferfluxd"), "--backends"], capture_output=True, text=True, timeout=60, env=clean_environment()).stdout
    return "" if "through MPI: " in shown else "this build has no MPI"


def over(hosts, folder) -> list[str]:
    """What mpirun needs to start one process on each host (tools/hosts), the first on the first."""
    settings = {"plm_rsh_agent": hosts.remote_shell(folder), "btl": "tcp,self", "btl_tcp_if_include": "net0",
                "oob_tcp_if_include": "net0", "mpi_yield_when_idle": 1, **KEEPALIVE}
    words = ["--bind-to", "none", "--host", ",".join(f"{address}:1" for address in hosts.addresses)]
    return [*words, *(word for name, value in settings.items() for word in ("--mca", name, str(value)))]


class Job(ServerProcess):
    """mpirun with `ranks` processes. With `hosts` (tools/hosts) each is on its own, and rank 0 on the first, where this thread must be."""

    def __init__(self, ranks, *flags, wait=True, model=MODEL, hosts=None):
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        where = over(hosts, folder) if hosts else ["--oversubscribe", "--bind-to", "none"]
        command = ["mpirun", "-n", str(ranks), *where]
        command += [program("inferfluxd"), "--port", "0", "--port-file", str(folder / "port"), "--model", str(model), "--threads", "1", *flags]
        self.start(command, folder / "log", folder / "port", ALLOWED, wait)

    def rank(self, number):
        """The process of a rank on mpirun's own host."""
        for environment in Path("/proc").glob("[0-9]*/environ"):
            try:
                words = environment.read_bytes().split(b"\0")
                parent = int((environment.parent / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if parent == self.process.pid and f"OMPI_COMM_WORLD_RANK={number}".encode() in words:
                return int(environment.parent.name)
        raise AssertionError(f"no rank {number}")
