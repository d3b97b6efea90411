"""dibs' MCP endpoint with what the protocol's test suite looks for: tools, resources and prompts named `test_…`.

    python -m tests.e2e.conformance_server FOLDER

Serves on loopback, prints the port, ends with its stdin. The server, its handlers and transports are dibs' own; the
fixtures stand beside them. The suite cannot send a header, so each request comes as the agent `suite`.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import mcp_types as types
import uvicorn
from mcp.shared.exceptions import MCPDeprecationWarning
from starlette.applications import Starlette
from starlette.routing import Route

import dibs
from dibs.interfaces.mcp.http import IDENTITY, Endpoint
from dibs.interfaces.mcp.server import Door
from dibs.server.host import Host
from dibs.server.identity import Identity
from dibs.server.requests import Requests
from dibs.workspace import location

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.lowlevel import Server

    from dibs.interfaces.mcp.server import Context

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEXT = {"type": "text", "text": "This is a simple text response for testing."}
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": SOUND, "mimeType": "audio/wav"}
EMBEDDED = {
    "type": "resource",
    "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource."},
}
PLAIN: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [TEXT],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [EMBEDDED],
    "test_multiple_content_types": [{"type": "text", "text": "Multiple content types test:"}, IMAGE, EMBEDDED],
}
TOOLS = (
    *PLAIN, "test_tool_with_logging", "test_tool_with_progress", "test_error_handling", "test_sampling",
    "test_elicitation", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
)  # fmt: skip
DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "required": [],
}
WORDS = ["option1", "option2", "option3"]
TITLED = [
    {"const": f"value{number}", "title": f"{name} Option"}
    for number, name in ((1, "First"), (2, "Second"), (3, "Third"))
]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": WORDS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": WORDS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
    "required": [],
}
ASKED = {
    "type": "object",
    "properties": {"username": {"type": "string"}, "email": {"type": "string"}},
    "required": ["username", "email"],
}
PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
}


def said(text: str, *, is_error: bool = False) -> types.CallToolResult:
    """A result of text."""
    return types.CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": is_error})


class Fixtures(Door):
    """dibs' handlers, and the suite's things beside them."""

    def server(self) -> Server[Any]:
        made = super().server()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            made.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self.set_level)
        made.add_request_handler("prompts/list", types.PaginatedRequestParams, self.list_prompts)
        made.add_request_handler("prompts/get", types.GetPromptRequestParams, self.get_prompt)
        made.add_request_handler("completion/complete", types.CompleteRequestParams, self.complete)
        return made

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        found = await super().list_tools(ctx, params)
        plain = {"type": "object", "properties": {"prompt": {"type": "string"}, "message": {"type": "string"}}}
        more = [types.Tool(name=name, description=f"{name} of the suite", input_schema=plain) for name in TOOLS]
        return types.ListToolsResult(tools=[*found.tools, *more])

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        name, given = params.name, params.arguments or {}
        if name in PLAIN:
            return types.CallToolResult.model_validate({"content": PLAIN[name]})
        if name == "test_error_handling":
            return said("This tool intentionally returns an error for testing", is_error=True)
        if name == "test_tool_with_logging":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                for text in ("started", "processing data", "completed"):
                    await ctx.session.send_log_message(
                        level="info", data=f"Tool execution {text}", related_request_id=ctx.request_id
                    )
            return said("logged")
        if name == "test_tool_with_progress":
            for done in (0, 50, 100):
                await ctx.session.report_progress(done, 100)
            return said("done")
        if name == "test_sampling":
            message = types.SamplingMessage(role="user", content=types.TextContent(text=given["prompt"]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
            return said(f"LLM response: {getattr(answer.content, 'text', '')}")
        schemas = {"test_elicitation": ASKED, TOOLS[-2]: DEFAULTS, TOOLS[-1]: ENUMS}
        if name in schemas:
            asked = await ctx.session.elicit_form(
                str(given.get("message", "please")), schemas[name], related_request_id=ctx.request_id
            )
            return said(f"Elicitation completed: action={asked.action}, content={asked.content}")
        return await super().call_tool(ctx, params)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = await super().list_resources(ctx, params)
        more = [types.Resource(name=name, uri=f"test://{name}") for name in ("static-text", "static-binary")]
        return types.ListResourcesResult(resources=[*found.resources, *more])

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        body: dict[str, Any]
        if uri == "test://static-text":
            body = {"mimeType": "text/plain", "text": "This is the content of the static text resource."}
        elif uri == "test://static-binary":
            body = {"mimeType": "image/png", "blob": PIXEL}
        elif uri.startswith("test://template/"):
            number = uri.split("/")[3]
            body = {"mimeType": "application/json", "text": f'{{"id":"{number}","data":"Data for ID: {number}"}}'}
        else:
            return await super().read_resource(ctx, params)
        return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **body}]})

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        found = await super().list_templates(ctx, params)
        more = types.ResourceTemplate(name="template", uri_template="test://template/{id}/data")
        return types.ListResourceTemplatesResult(resource_templates=[*found.resource_templates, more])

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        if str(params.uri).startswith("test://"):
            return types.EmptyResult()
        return await super().subscribe(ctx, params)

    async def set_level(self, _: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
        return types.EmptyResult()

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams) -> types.ListPromptsResult:
        made = [
            {
                "name": name,
                "description": f"{name} of the suite",
                "arguments": [{"name": word, "description": word, "required": True} for word in words],
            }
            for name, words in PROMPTS.items()
        ]
        return types.ListPromptsResult.model_validate({"prompts": made})

    async def get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given = params.arguments or {}
        contents: list[dict[str, Any]] = [{"type": "text", "text": "This is a simple prompt for testing."}]
        if params.name == "test_prompt_with_arguments":
            contents = [{"type": "text", "text": f"Prompt with arguments: {given['arg1']}, {given['arg2']}"}]
        elif params.name == "test_prompt_with_embedded_resource":
            resource = {"uri": given["resourceUri"], "mimeType": "text/plain", "text": "embedded"}
            contents = [{"type": "resource", "resource": resource}, {"type": "text", "text": "Please process it."}]
        elif params.name == "test_prompt_with_image":
            contents = [IMAGE, {"type": "text", "text": "Please look at it."}]
        messages = [{"role": "user", "content": content} for content in contents]
        return types.GetPromptResult.model_validate({"messages": messages})

    async def complete(self, _: Context, __: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult.model_validate({"completion": {"values": ["test1"], "total": 1, "hasMore": False}})


async def serve(folder: str) -> None:
    """Serve until stdin is closed."""
    host = Host(location.find(folder, None))
    endpoint = Endpoint(Requests(host), make=Fixtures)

    class Known:
        """Names the caller, as a credential would."""

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await endpoint({**scope, IDENTITY: Identity(agent="suite")}, receive, send)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with endpoint.lifespan():
            yield

    app = Starlette(routes=[Route("/mcp", Known())], lifespan=lifespan)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=1))
    running = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn says it by this flag alone
        await asyncio.sleep(0.01)
    sys.stdout.write(f"{server.servers[0].sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await running
    host.close()


if __name__ == "__main__":
    dibs.init(sys.argv[1])
    asyncio.run(serve(sys.argv[1]))
