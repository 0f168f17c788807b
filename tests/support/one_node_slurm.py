"""A Slurm of one node on loopback, with its own key and folders; it needs root, slurmctld, slurmd and munge."""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess

from waiting import wait_until

CONFIGURATION = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000
PartitionName=p Nodes={host} Default=YES OverSubscribe=YES
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def one_node_slurm(folder: pathlib.Path):
    """Yields the environment of a process that uses it."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, host=socket.gethostname().split(".")[0],
                                                  controller=free_port(), node=free_port()))
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    started = []

    def start(*words):
        started.append(subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def idle():
        found = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
        return found.stdout.strip() == "idle"

    try:
        start("munged", "--force", "--foreground", f"--key-file={key}", f"--socket={folder}/munge.socket",
              f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed")
        assert wait_until((folder / "munge.socket").exists, started[-1])
        start("slurmctld", "-c", "-D")
        start("slurmd", "-D")
        assert wait_until(idle, started[-1]), (folder / "slurmd.log").read_text()
        yield environment
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            process.wait()
