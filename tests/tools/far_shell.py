"""A stand-in for ssh and sshd on one machine: `serve PATH` runs command lines for whoever asks at this socket,
`run PATH HOST COMMAND` asks, with its own standard files. So what runs is no descendant of who asked, and does
not end with it."""
import os
import signal
import socket
import sys


def serve(path):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    while True:
        asker, _ = listener.accept()
        if os.fork() == 0:
            command, files, _, _ = socket.recv_fds(asker, 65536, 3)
            host, command = command.decode().split("\0")
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            shell = os.fork()
            if shell == 0:
                os.setsid()
                for number, file in enumerate(files):
                    os.dup2(file, number)
                environment = {"PATH": "/usr/bin:/bin", "HOME": "/", "BELAY_COLLECTIVE_HOST": host}
                os.chdir("/")
                os.execve("/bin/sh", ["sh", "-c", command], environment)
            for file in files:
                os.close(file)
            code = os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1])
            try:
                asker.send(str(code if code >= 0 else 128 - code).encode())
            except BrokenPipeError:  # who asked has ended
                pass
            os._exit(0)
        asker.close()


def run(path, host, command):
    server = socket.socket(socket.AF_UNIX)
    server.connect(path)
    socket.send_fds(server, [f"{host}\0{command}".encode()], [0, 1, 2])
    os.close(0)
    sys.exit(int(server.recv(16).decode() or 255))


{"serve": serve, "run": run}[sys.argv[1]](*sys.argv[2:])
