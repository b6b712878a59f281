# SPDX-License-Identifier: BSD-3-Clause
"""ONC RPC over TCP, for tests of code that calls or answers MOUNT and rpcbind."""
import socket
import struct
import threading


def word(*values):
    return struct.pack(f'>{len(values)}I', *values)


def opaque(data):
    return word(len(data)) + data + bytes(-len(data) % 4)


class Reader:
    def __init__(self, data):
        self.data = data

    def word(self):
        value, = struct.unpack_from('>I', self.data)
        self.data = self.data[4:]
        return value

    def opaque(self):
        n = self.word()
        value = self.data[:n]
        self.data = self.data[n + -n % 4:]
        return value


class Daemon(threading.Thread):
    """A server of RPC over TCP. answer(program, version, procedure, arguments) returns results, or
    raw bytes, or None to send no answer."""

    def __init__(self, answer, listener=None):
        super().__init__(daemon=True)
        self.answer = answer
        self.calls = []
        self.credential = None # of the latest call: flavor, body
        self.socket = listener or socket.create_server(('127.0.0.1', 0))
        self.port = None if listener else self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                conn, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        with conn:
            while True:
                try:
                    head = conn.recv(4, socket.MSG_WAITALL)
                except ConnectionResetError:
                    return
                if len(head) < 4:
                    return
                body = Reader(conn.recv(struct.unpack('>I', head)[0] & 0x7fffffff,
                                        socket.MSG_WAITALL))
                xid, _, _, program, version, proc = (body.word() for _ in range(6))
                self.credential = body.word(), body.opaque()
                body.word()
                body.opaque()
                self.calls.append((program, version, proc))
                results = self.answer(program, version, proc, body)
                if results is not None:
                    reply = word(xid, 1, 0, 0, 0, 0) + results
                    conn.sendall(word(0x80000000 | len(reply)) + reply)

    def close(self):
        # accept() does not notice that another thread closes the socket.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
