#!/usr/bin/env python3
"""A Millrace worker in Python: runs the functions of a file as jobs of a hub. Numbers in brackets: src/protocol/PROTOCOL.md.

One event loop in the main thread owns the socket and all state. Each handler runs in a thread of its own and reaches back only
through the loop, so heartbeats go out whatever handlers do."""
import argparse, asyncio, collections, json, logging, os, random, runpy, secrets, signal, socket, sys, threading, time, traceback
import websockets
from websockets.exceptions import ConnectionClosed, WebSocketException

log = logging.getLogger("worker")
LONGEST_WAIT_S, GRACE_S, FOREVER = 15, 5, float("inf")
SHORT = {"result": '{"$unstorable":"the result could not be stored as it was"}', "errors": "[]"}


def printable(text):
    """[5.5] No NUL, no lone surrogates, no endless texts."""
    return text[:8000].replace("\0", "␀").encode("utf-8", "replace").decode()


class Attempt:
    """One job that runs, and what its handler sees of the worker."""

    def __init__(self, worker, job):
        self.worker, self.job, self.lease, self.attempt = worker, job, (job["id"], job["token"]), job["attempts"] + 1
        self.received_at, self.ends_at = time.monotonic(), time.monotonic() + worker.options.timeout
        self.cancelled, self.why = threading.Event(), None  # it is to stop, for: cancelled, timed-out, put-back, lost
        self.is_settled, self.lines = False, 0

    def log(self, text, level="info", kind="log"):
        self.lines += 1
        self.worker.lines.append({"id": self.lease[0], "token": self.lease[1], "seq": self.lines, "kind": kind, "level": level,
                                  "text": printable(text)})

    def run(self, handler):
        result = failure = None
        try:
            result = json.dumps(handler(json.loads(self.job["payload"]), self), allow_nan=False)
        except BaseException as error:  # whatever a handler raises ends its job, not the worker
            failure = error
        self.worker.loop.call_soon_threadsafe(self.worker.on_ended, self, result, failure)

    def stop(self, why):
        if self.why is None:
            self.why, self.ends_at = why, time.monotonic() + GRACE_S
        self.cancelled.set()


class Worker:
    def __init__(self, options, handlers):
        self.options, self.handlers = options, handlers
        self.id, self.incarnation = options.id or "w-" + secrets.token_hex(4), secrets.token_hex(8)
        self.running, self.outbox, self.lines = {}, {}, collections.deque(maxlen=1000)
        self.state, self.admin_state, self.drain, self.socket, self.welcome = "REGISTER", "active", None, None, None
        self.done, self.clock_ms, self.is_ended, self.is_forced = 0, 0, False, False

    async def work(self):
        """[4.1, 11]"""
        self.loop, tries, failures = asyncio.get_running_loop(), 0, 0
        for name in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(name, self.start_drain, "signal", self.options.stop_timeout)
        ticker = asyncio.create_task(self.tick_for_ever())
        while not self.is_ended:
            longest = None
            try:
                await self.connect(f"{self.options.hub[tries % len(self.options.hub)].rstrip('/')}/workers/{self.id}/link")
            except ConnectionClosed as error:
                longest = self.on_closed(error.rcvd.code if error.rcvd else 1006, error.rcvd.reason if error.rcvd else "")
            except (OSError, WebSocketException, asyncio.TimeoutError) as error:  # also a handshake that was refused
                log.warning("link: lost (%s %s)", type(error).__name__, error)
                longest = LONGEST_WAIT_S if getattr(error, "status_code", 503) in (400, 403, 404, 426) else None
            lasted = self.welcome is not None and time.monotonic() - self.welcome["at"] > LONGEST_WAIT_S
            tries, failures, self.socket, self.welcome = tries + 1, 1 if lasted else failures + 1, None, None
            self.state = "RECONNECTING" if self.state == "RUNNING" else self.state
            again_at = time.monotonic() + random.uniform(0, longest or min(LONGEST_WAIT_S, 0.2 * 2 ** min(failures, 9)))
            while not self.is_ended and time.monotonic() < again_at:
                await asyncio.sleep(0.05)
        ticker.cancel()

    def on_closed(self, code, reason):
        """The longest wait before the next try, if not the usual one [13]."""
        log.log(logging.ERROR if code in (4401, 4426) else logging.WARNING, "link: lost (%s %s)", code, reason)
        if code == 4409:  # [11.4] another process uses this incarnation: what is held is no longer ours
            for attempt in self.held():
                self.lose(attempt)
            self.outbox, self.incarnation = {}, secrets.token_hex(8)
        return {1012: 1, 4401: LONGEST_WAIT_S, 4426: LONGEST_WAIT_S}.get(code)

    async def connect(self, url):
        how = {"compression": None, "max_size": None, "ping_interval": None, "open_timeout": 10, "close_timeout": 2}
        async with websockets.connect(url, subprotocols=["millrace.v1"], **how) as self.socket:
            if self.socket.subprotocol != "millrace.v1":
                raise WebSocketException("it is no hub: the sub-protocol was not taken up")
            self.next_id, self.last_assign, self.sent_at, self.settling, self.most_rows = 1, 0, {}, None, 1000
            self.next_beat_at, self.next_settle_at, self.has_said_goodbye = 0, 0, False
            held = {*self.outbox, *(attempt.lease for attempt in self.held())}
            await self.send(
                "hello", **({"token": self.options.token} if self.options.token else {}), incarnation=self.incarnation,
                ended=None, host=socket.gethostname(), pid=os.getpid(), version="python-worker 1", queues=self.options.queue,
                handlers=[{"name": name, "lane": "inline"} for name in self.handlers], labels=[], restarts=0,
                concurrency=self.options.concurrency, held=[{"id": id, "token": t} for id, t in held], status=self.status())
            while not self.is_ended:  # [9.2]
                text = await asyncio.wait_for(self.socket.recv(), self.welcome["silenceMs"] / 1000 if self.welcome else 10)
                try:
                    message = json.loads(text)
                    self.is_ended = self.is_ended or message["type"] == "goodbye-ack"
                    handle = getattr(self, "hub_" + message["type"].replace("-", "_"), None)
                    if handle is not None:  # [14.2] an unknown message is ignored
                        handle(message)
                except (ValueError, KeyError, TypeError, AttributeError) as error:  # [10.1]
                    log.error("link: a message that can't be used: %r", error)

    async def send(self, type, **fields):
        id, self.next_id = self.next_id, self.next_id + 1
        if type in ("hello", "beat"):
            self.sent_at[id] = time.monotonic()
        await asyncio.wait_for(self.socket.send(json.dumps({"type": type, "id": id, **fields})), 10)

    def held(self):
        return [attempt for attempt in self.running.values() if not attempt.is_settled]

    def status(self):
        lane = {"kind": "inline", "number": 0, "state": "ready", "width": self.options.concurrency, "jobs": [], "pid": None,
                "running": len(self.running), "restarts": 0, "jobsDone": self.done, "rssBytes": None, "note": None}
        usage = {"cpu": 0, "rssBytes": 0, "heapBytes": 0, "loopLagMs": 0, "disk": None}
        drain = self.drain and {"reason": self.drain["why"], "owner": self.drain["why"], "deadlineAtMs": None}
        return {"state": self.state, "transitions": [], "drain": drain, "running": len(self.running), "lanes": [lane],
                "jobsDone": self.done, "usage": usage, "details": {"python": sys.version.split()[0]}}

    def hub_welcome(self, message):
        self.welcome, self.id = {**message, "at": time.monotonic()}, message["workerId"]
        self.clock_ms, self.state = message["nowMs"] - time.time() * 1000, "DRAINING" if self.drain else "RUNNING"
        log.info("link: connected to hub %s as %s", message["hubId"], self.id)
        self.compare(message["held"], FOREVER)
        self.hub_orders(message)

    def hub_orders(self, message):
        self.admin_state, self.next_settle_at = message["adminState"], 0
        if message["recycleAsked"] and self.drain is None:
            self.start_drain("recycle", FOREVER)

    def hub_beat_ack(self, message):
        self.compare(message["held"], self.sent_at.get(message["re"], 0))
        if message["adminState"] != self.admin_state or message["recycleAsked"]:
            self.hub_orders(message)

    def compare(self, leases, asked_at):
        """[8.6, 8.7] What was received before `asked_at` and is not named is lost."""
        named = {(lease["id"], lease["token"]) for lease in leases}
        for attempt in [each for each in self.held() if each.lease not in named and each.received_at < asked_at]:
            self.lose(attempt)
        self.hub_stop({"leases": leases})

    def hub_stop(self, message):
        for lease in message["leases"]:
            attempt = self.running.get(lease["id"])
            if lease["stopRequest"] and attempt is not None and attempt.lease[1] == lease["token"]:
                attempt.stop("cancelled")

    def hub_assign(self, message):
        self.last_assign = message["assign"]
        age_s = time.monotonic() - self.sent_at.get(message["beat"], 0)
        for job in message["jobs"]:
            known, handler, lease = self.running.get(job["id"]), self.handlers.get(job["name"]), (job["id"], job["token"])
            if (known and known.lease == lease) or lease in self.outbox:
                continue  # [8.4]
            # [8.5] Its lease may be over. Or there is no room: all that was asked for is noted as started, for a slot is free for each.
            is_late, is_full = age_s >= self.welcome["leaseMs"] / 1000, len(self.running) >= self.options.concurrency
            if is_late or is_full or known or handler is None or not job["started"]:
                self.settle(lease, kind="put-back", delayMs=0 if is_late else 1000, reason="its worker can't start it")
                continue
            attempt = self.running[job["id"]] = Attempt(self, job)
            threading.Thread(target=attempt.run, args=(handler,), daemon=True).start()

    def hub_settled(self, message):
        if self.settling is not None and self.settling[0] == message["re"]:
            for lease in self.settling[1]:  # whatever the outcome, nothing is left to do
                self.outbox.pop(lease, None)
            self.settling = None

    def hub_failed(self, message):
        log.warning("hub: %s: %s", message["code"], message["message"])
        if self.welcome is None:
            self.socket.transport.abort()  # [4.3] begins again after a wait
        elif self.has_said_goodbye:
            self.loop.call_later(1, setattr, self, "has_said_goodbye", False)  # [7.13] it is said again
        elif self.settling is not None and self.settling[0] == message["re"]:
            leases, self.settling, self.next_settle_at = self.settling[1], None, time.monotonic() + random.uniform(0.5, 2)
            if not message["retryable"]:  # [7.2] first one by one, then without its texts
                for lease in leases if self.most_rows == 1 else []:
                    self.outbox[lease].update({key: text for key, text in SHORT.items() if key in self.outbox[lease]})
                self.most_rows = 1

    def settle(self, lease, **settlement):
        self.outbox[lease] = {"id": lease[0], "token": lease[1], **settlement}
        self.next_settle_at = 0

    def lose(self, attempt):
        """Its slot stays taken until the handler has really ended."""
        log.warning("job %s: its lease is lost, its handler is to stop", attempt.lease[0])
        attempt.is_settled = True
        attempt.stop("lost")

    def on_ended(self, attempt, result, error):
        """A handler has returned, or raised."""
        self.running.pop(attempt.lease[0], None)
        self.done, self.next_settle_at = self.done + 1, 0
        if not attempt.is_settled and result is not None and len(json.dumps(result)) <= 1024**2:
            self.settle(attempt.lease, kind="completed", result=result)
        elif not attempt.is_settled:
            self.end(attempt, error or ValueError("its result is larger than 1 MB"))

    def end(self, attempt, error):
        """Settles what did not complete."""
        attempt.is_settled, job = True, attempt.job
        if attempt.why in ("cancelled", "put-back"):
            more = {"put-back": {"delayMs": 0, "reason": "its worker stops"}, "cancelled": {"reason": None}}[attempt.why]
            return self.settle(attempt.lease, kind=attempt.why, **more)
        stack = printable("".join(traceback.format_exception(type(error), error, error.__traceback__)))
        entry = {"at": int(time.time() * 1000 + self.clock_ms), "attempt": attempt.attempt, "worker": self.id,
                 "kind": "timed-out" if attempt.why == "timed-out" else "failed",
                 "error": {"name": type(error).__name__, "message": printable(str(error)), "stack": stack}}  # [6.19]
        errors = [*json.loads(job["errors"] or "[]"), entry]
        text = json.dumps([*errors[:1], *errors[1:][-9:]])
        ending = {"kind": "retry", "delayMs": random.uniform(0, min(3_600_000, 5000 * 2 ** min(job["attempts"], 20)))}
        if attempt.attempt >= job["maxAttempts"]:
            ending = {"kind": "buried", "reason": "attempts-exhausted"}
        self.settle(attempt.lease, **ending, errors=text if len(text) < 250_000 else json.dumps([entry]))

    async def send_results(self, now):
        """[7.2, 8] Results, and the room that is left; one such message on its way at a time."""
        batch, size = [], 0
        for lease, settlement in self.outbox.items():
            size += len(json.dumps(settlement))
            if batch and (size > 1_900_000 or len(batch) >= self.most_rows):
                break
            batch.append(lease)
        free = self.options.concurrency - len(self.running)
        is_open = self.drain is None and self.admin_state != "drain" and free > 0
        take = {"queues": self.options.queue, "names": list(self.handlers), "limit": free, "start": free}
        self.settling = (self.next_id, batch)
        self.next_settle_at = now + random.uniform(20, 40) if len(batch) == len(self.outbox) else 0  # [8.3]
        await self.send("settle", settlements=[self.outbox[lease] for lease in batch],
                        want={"after": self.last_assign, "takes": [take] if is_open else [], "alone": False})

    async def tick_for_ever(self):
        while True:
            await asyncio.sleep(0.02)
            try:
                await self.tick(time.monotonic())
            except (ConnectionClosed, asyncio.TimeoutError):
                self.socket.transport.abort()  # whoever reads finds out, and connects anew

    async def tick(self, now):
        is_late = self.drain is not None and now >= self.drain["ends_at"]
        is_empty = not self.held() and not self.outbox
        if self.drain is not None and is_empty and self.socket is None:
            self.is_ended = True
        for attempt in self.held():
            if now >= attempt.ends_at and attempt.why is not None:
                self.end(attempt, TimeoutError("it took too long"))  # it does not listen: its late result is ignored
            elif is_late or now >= attempt.ends_at:
                attempt.stop("put-back" if is_late else "timed-out")
        if is_late and now >= self.drain["ends_at"] + 2 * GRACE_S:
            self.is_ended = self.is_forced = True  # no hub answers: what is left lapses
            return self.socket and self.socket.transport.abort()
        if self.welcome is None or self.has_said_goodbye:
            return
        if now >= self.next_beat_at:
            self.next_beat_at = now + self.welcome["heartbeatMs"] / 1000
            await self.send("beat", status=self.status())
        if self.lines:
            await self.send("log", lines=[self.lines.popleft() for _ in range(min(len(self.lines), 100))])
        if self.settling is None and now >= self.next_settle_at:
            await self.send_results(now)
        if self.drain is not None and is_empty and not self.outbox and self.settling is None:
            log.info("drain: done, jobs_done=%s, exiting", self.done)
            self.has_said_goodbye = True
            await self.send("goodbye", status=self.status())

    def start_drain(self, why, timeout_s):
        log.info("drain: %s, %s jobs run", why, len(self.running))
        ends_at = time.monotonic() + (0 if self.drain else timeout_s)  # a second signal waits no more
        self.drain, self.state, self.next_settle_at = {"why": why, "ends_at": ends_at}, "DRAINING", 0


def main():
    parser = argparse.ArgumentParser(description="Runs the functions of a file as jobs of a Millrace hub.")
    parser.add_argument("handlers", help="a Python file; each public function in it is the handler of the job of its name")
    parser.add_argument("--hub", default=os.environ.get("HUB_URL", "ws://127.0.0.1:8000"), help="one address or more, by comma")
    parser.add_argument("--queue", default="default", help="queues in strict order, by comma")
    parser.add_argument("--id", help="to be known by over restarts")
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=300, help="of one attempt, s")
    parser.add_argument("--stop-timeout", type=float, default=25, help="after a signal, s")
    options = parser.parse_args()
    options.hub, options.queue = options.hub.split(","), options.queue.split(",")
    options.token = os.environ.get("WORKER_SECRET")  # not on the command line, where every process can read it
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    found = runpy.run_path(options.handlers)
    worker = Worker(options, {name: it for name, it in found.items() if type(it) is type(main) and name[0] != "_"})
    asyncio.run(worker.work())
    sys.exit(143 if worker.is_forced else 0)


if __name__ == "__main__":
    main()
