"""Who calls a server: by a credential, or by a process that the server's own machine can see.

An identity is plain values. Whether a credential counts is decided in each call's own transaction
(operations/agents/credentials.py): one that was read here a moment ago may be revoked by now.
"""

from __future__ import annotations

from dibs.client import secrets
from dibs.operations.agents.credentials import BEARER, PERSON_KIND
from dibs.operations.core.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.operations.core.call import Answer, Process
    from dibs.server.host import Host

    Ends = tuple[tuple[str, int], tuple[str, int]]  # the caller's address and port, and the server's


class Identity:
    """A caller.

    `credential` is the id of a credential and the hash of its secret, or None for a caller of this machine, which is
    known by `agent` and `client` (its process). `agent` is whom it speaks for where it names nobody, `role` the
    credential's own ("" where the config decides), `kind` the client's (`claude`), as far as a door can see it.
    """

    __slots__ = ("agent", "bearer", "client", "credential", "ends", "kind", "model", "person", "role")

    def __init__(
        self,
        *,
        agent: str = "",
        credential: tuple[str, str] | None = None,
        role: str = "",
        kind: str = "",
        person: bool = False,
        client: Process | None = None,
        bearer: str = "",
        model: bool = False,
    ) -> None:
        self.agent = agent
        self.bearer = bearer  # whose the credential is: an agent's, a person's or a machine's
        self.credential = credential
        self.ends: Ends | None = None  # of its connection
        self.role = role
        self.kind = kind
        self.person = person
        self.client = client
        self.model = model  # a model calls, by a door that serves models alone

    @classmethod
    def of(cls, found: Answer, credential: tuple[str, str]) -> Identity:
        """The caller with this credential, of which this is known (credentials.py)."""
        return cls(
            agent=found["who"], credential=credential, role=found["role"], person=found["kind"] == PERSON_KIND,
            bearer=found["kind"],
        )  # fmt: skip

    def at(self, ends: Ends) -> Identity:
        """The same caller, on a connection between these two ends."""
        found = Identity(
            agent=self.agent, credential=self.credential, role=self.role, kind=self.kind, person=self.person,
            client=self.client, bearer=self.bearer, model=self.model,
        )  # fmt: skip
        found.ends = ends
        return found

    @property
    def id(self) -> str:
        """The credential's id; "" for a caller of this machine."""
        return "" if self.credential is None else self.credential[0]

    def call(self, session: Session, agent: str = "", request: str = "") -> Call:
        """The caller of one operation; `agent` is whom it says that it speaks for."""
        if self.credential is None:
            return session.identify(agent or self.agent or None, client=self.client, request=request)
        return Call(
            session.config.policy, agent=agent or self.agent, request=request, kind=self.kind,
            identified_by="credential", credential=self.credential, model=self.model,
        )  # fmt: skip


def of_token(host: Host, token: str) -> Identity:
    """The caller with this token; `Unauthorized` if it is none that counts."""
    return of_credential(host, *secrets.opened(token))


def of_credential(host: Host, identifier: str, digest: str) -> Identity:
    """The caller with the credential of this id, whose secret has this hash."""
    session = host.session()
    found = session.run(BEARER, Call(session.config.policy), {"id": identifier, "hash": digest})
    return Identity.of(found, (identifier, digest))
