"""Handlers: each public function runs the jobs of its name. It gets the payload and an attempt, and may return what JSON can hold.

Threads can't be killed: what takes long looks at `attempt.cancelled` now and then and returns when it is set."""
import json


def greet(payload, attempt):
    attempt.log(f"greeting {payload['who']}, attempt {attempt.attempt}")
    return f"hello, {payload['who']}"


def count(payload, attempt):
    """Counts to `to`, with `seconds` between two numbers."""
    for number in range(1, payload["to"] + 1):
        attempt.log(json.dumps({"done": number, "total": payload["to"]}), kind="progress")
        if attempt.cancelled.wait(payload["seconds"]):
            raise InterruptedError(f"stopped at {number}")
    return payload["to"]


def fail(payload, attempt):
    raise ValueError(payload["why"])


def _helper():
    """Not a handler: its name begins with an underscore."""
