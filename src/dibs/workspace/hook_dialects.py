"""What the launcher says to each client. Made by `make generate` from their folders."""
# ruff: noqa: E501 - lines of a script

DIALECTS = {
    "NAMED_BEFORE": r""" | *:PreToolUse | *:preToolUse""",
    "NAMED_START": r"""*:SessionStart | *:sessionStart""",
    "SAID_BEFORE": r"""*'"BeforeTool"'* | *'"PreToolUse"'* | *'"preToolUse"'* | *'"tool.execute.before"'*""",
    "SAID_START": r"""*'"hook_event_name":"SessionStart"'* | *'"hook_event_name": "SessionStart"'* | *'"hook_event_name":"session.created"'* | *'"hook_event_name": "session.created"'* | *'"hook_event_name":"sessionStart"'* | *'"hook_event_name": "sessionStart"'*""",
    "TELL": r"""        claude | codex) printf '{"systemMessage":"%s","hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"%s"}}\n' "$2" "$2" ;;
        cursor) printf '{"additional_context":"%s"}\n' "$2" ;;
        gemini) printf '{"systemMessage":"%s"}\n' "$2" ;;
        opencode) printf '{"context":"%s"}\n' "$2" ;;""",
    "DENY": r"""        claude | codex) printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"%s"}}\n' "$2" ;;
        copilot) printf '{"permissionDecision":"deny","permissionDecisionReason":"%s"}\n' "$2" ;;
        cursor) printf '{"permission":"deny","user_message":"%s","agent_message":"%s"}\n' "$2" "$2" ;;
        gemini) printf '{"decision":"deny","reason":"%s"}\n' "$2" ;;
        opencode) printf '{"deny":"%s"}\n' "$2" ;;""",
}
