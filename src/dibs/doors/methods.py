"""The typed methods of the Python API. Made by `make generate` from the declarations in operations/."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.doors.python import Claim


class Methods:
    """One method for each declared operation; durations are seconds or texts such as "30m"."""

    def _call(self, name: str, request_id: str | None, **given: Any) -> Any:
        raise NotImplementedError

    def ack(
        self,
        message: str,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Acknowledge a message, so that it is not shown again.

        Answers: message.
        Raises: NotFound.
        """
        answer: dict[str, Any] = self._call(
            "ack",
            request_id,
            message=message,
        )
        return answer

    def agents(
        self,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """List the agents.

        Answers: agents[].
        """
        answer: dict[str, Any] = self._call(
            "agents",
            request_id,
        )
        return answer

    def ask(
        self,
        resource: str,
        text: str,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Ask whoever holds a resource to release it.

        Answers: message.
        Raises: NotFound, Invalid.
        """
        answer: dict[str, Any] = self._call(
            "ask",
            request_id,
            resource=resource,
            text=text,
        )
        return answer

    def boot(
        self,
        *,
        task: str | None = None,
        type: str | None = None,
        can: Sequence[str] | None = None,
        pid: int | None = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Register, check what you hold against the live record, and get a briefing.

        Answers: agent, incarnation, held[], lost[], task, messages[], rules.
        """
        answer: dict[str, Any] = self._call(
            "boot",
            request_id,
            task=task,
            type=type,
            can=can,
            pid=pid,
        )
        return answer

    def claim(
        self,
        *resources: str,
        mode: str | None = None,
        ttl: float | str | None = None,
        wait: float | str | None = None,
        reason: str | None = None,
        task: str | None = None,
        expect: float | str | None = None,
        request_id: str | None = None,
    ) -> Claim:
        """Claim resources, all of them or none.

        Answers: claim, token, resources[], mode, expires_at; refused: error.blockers[].
        Raises: Held, Deadlock, Order, Quota, Fenced, Killed, Invalid.
        """
        answer: Claim = self._call(
            "claim",
            request_id,
            resources=resources or None,
            mode=mode,
            ttl=ttl,
            wait=wait,
            reason=reason,
            task=task,
            expect=expect,
        )
        return answer

    def confirm(
        self,
        resource: str,
        *,
        token: int,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Ask whether a token is still live for a resource.

        Answers: holder, token.
        Raises: Fenced.
        """
        answer: dict[str, Any] = self._call(
            "confirm",
            request_id,
            resource=resource,
            token=token,
        )
        return answer

    def inbox(
        self,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Show the messages you have not acknowledged.

        Answers: messages[], more.
        """
        answer: dict[str, Any] = self._call(
            "inbox",
            request_id,
        )
        return answer

    def kill(
        self,
        agent: str,
        *,
        why: str,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Stop an agent: void its claims and refuse all it does.

        Answers: agents[], voided[].
        Raises: NotFound, Invalid.
        """
        answer: dict[str, Any] = self._call(
            "kill",
            request_id,
            agent=agent,
            why=why,
        )
        return answer

    def leave(
        self,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Say that you are done: what you hold is released, a subagent's passes to its parent.

        Answers: released[], passed[], to.
        """
        answer: dict[str, Any] = self._call(
            "leave",
            request_id,
        )
        return answer

    def prune(
        self,
        *,
        keep: float | str | None = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Drop the events before the newest seal older than --keep.

        Answers: through.
        Raises: NotFound.
        """
        answer: dict[str, Any] = self._call(
            "prune",
            request_id,
            keep=keep,
        )
        return answer

    def release(
        self,
        *resources: str,
        all: bool | None = None,
        commit: str | None = None,
        to: str | None = None,
        token: int | None = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Give claims back, or hand them over to another agent.

        Answers: released[].
        Raises: Fenced, NotFound, Held, Deadlock, Killed, Invalid.
        """
        answer: dict[str, Any] = self._call(
            "release",
            request_id,
            resources=resources or None,
            all=all,
            commit=commit,
            to=to,
            token=token,
        )
        return answer

    def renew(
        self,
        *resources: str,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Give what you hold a new deadline.

        Answers: renewed[].
        Raises: Fenced, NotFound, Killed.
        """
        answer: dict[str, Any] = self._call(
            "renew",
            request_id,
            resources=resources or None,
        )
        return answer

    def revive(
        self,
        agent: str,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Let a killed agent act again.

        Answers: agents[].
        Raises: NotFound.
        """
        answer: dict[str, Any] = self._call(
            "revive",
            request_id,
            agent=agent,
        )
        return answer

    def rules(
        self,
        *,
        ack: bool | None = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Show the rules of the workspace, and whether you were told this version.

        Answers: digest, acknowledged, current, text.
        """
        answer: dict[str, Any] = self._call(
            "rules",
            request_id,
            ack=ack,
        )
        return answer

    def scratch(
        self,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Show your own scratch folder, making it if needed.

        Answers: agent, scratch.
        """
        answer: dict[str, Any] = self._call(
            "scratch",
            request_id,
        )
        return answer

    def seal(
        self,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Write a seal: the live claims at this point of the log.

        Answers: seq, link, claims.
        """
        answer: dict[str, Any] = self._call(
            "seal",
            request_id,
        )
        return answer

    def status(
        self,
        *resources: str,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Show who holds what, who waits, and which agents are there.

        Answers: claims[], waiting[], agents[], tasks[].
        """
        answer: dict[str, Any] = self._call(
            "status",
            request_id,
            resources=resources or None,
        )
        return answer

    def sweep(
        self,
        *,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """End what is past its deadline or whose process is gone, and raise alerts.

        Answers: swept, more.
        """
        answer: dict[str, Any] = self._call(
            "sweep",
            request_id,
        )
        return answer
