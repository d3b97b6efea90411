"""The tools that a model sees are the declared operations: names, schemas and annotations are derived."""

from __future__ import annotations

import jsonschema
import pytest

from dibs.client import catalogue
from dibs.errors import ERRORS
from dibs.interfaces.mcp import results, tools
from dibs.operations.core import index

CHOSEN, ALL = tools.derived(), tools.derived(every=True)
NAMES = {*index.FILES, *index.QUERIES}


def test_the_table_of_texts_names_only_operations_that_exist() -> None:
    assert set(tools.TEXTS) <= NAMES
    assert set(tools.HIDDEN_FIELDS) <= NAMES
    assert set(tools.TEXTS) >= tools.ALWAYS_LOADED
    for name, hidden in tools.HIDDEN_FIELDS.items():
        assert set(hidden) <= set(catalogue.operation(name).by_name)


def test_a_model_sees_some_twenty_tools_and_all_of_them_by_a_flag() -> None:
    assert 15 <= len(CHOSEN) <= 20
    left_out = {name for name in NAMES if name.startswith(tools.LEFT_OUT)}
    assert {tool.operation.name for tool in ALL.values()} == NAMES - left_out
    assert "token new" in left_out


def test_the_words_for_a_refusal_cover_every_error() -> None:
    assert set(ERRORS) <= set(results.NEXT)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_tool_s_schemas_are_objects_of_json_schema_2020_12_without_what_is_internal(name: str) -> None:
    tool = ALL[name]
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    internal = {field.name for field in tool.operation.fields if field.internal or field.kind in tools.HIDDEN_KINDS}
    shown = set(tool.input_schema["properties"])
    assert not shown & internal
    assert shown | internal | set(tools.HIDDEN_FIELDS.get(tool.operation.name, ())) == set(tool.operation.by_name)
    assert tool.name == name.replace(" ", "_")
    assert not {"as", "agent_id", "workspace"} & shown  # who calls is never an argument


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_tool_says_what_its_declaration_says_of_it(name: str) -> None:
    tool, said = ALL[name], ALL[name].as_json()
    operation = tool.operation
    assert said["description"].startswith(operation.help)
    assert said["annotations"]["readOnlyHint"] is (not operation.writes)
    assert said["annotations"]["destructiveHint"] is operation.destructive
    assert said["annotations"]["idempotentHint"] is operation.idempotent
    assert said["annotations"]["openWorldHint"] is False
    assert ("_meta" in said) is (operation.name in {"claim", "release", "status", "ask"})


@pytest.mark.parametrize("field", ["verify", "out", "pid"])
def test_no_tool_runs_a_command_writes_a_file_or_takes_a_process_of_the_model_s_choice(field: str) -> None:
    assert not [name for name, tool in ALL.items() if field in tool.input_schema["properties"]]


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_field_is_described_without_the_words_of_a_command_line(name: str) -> None:
    for field, schema in ALL[name].input_schema["properties"].items():
        assert not any(word in schema.get("description", "") for word in (" --", "@FILE")), field


def test_a_refusal_s_commands_are_named_as_tools_and_others_stay() -> None:
    text = "Wait: `dibs claim a --wait 60s`; or `dibs task next`, or `dibs restore a`, `dibs"
    spoken = results.spoken(text, CHOSEN)
    assert spoken == "Wait: the tool `claim` with `wait`; or the tool `task_next`, or `dibs restore a`, `dibs"
    text = "`dibs ask a TEXT` asks. `dibs agents --all` lists them, and --not-later keeps it. `dibs boot` tells"
    spoken = results.spoken(text, CHOSEN)
    assert (
        spoken == "The tool `ask` asks. `dibs agents --all` lists them, and `not_later` keeps it. The tool `boot` tells"
    )
