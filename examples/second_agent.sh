#!/bin/sh
# Two sessions of Claude Code in one repository, without a model: their hooks are called as the client calls them, and
# what dibs answers is what a model would read. The first argument is an empty folder.
mkdir "$1/shop" && cd "$1/shop" && git init -q && mkdir src && echo 'def total(cart): return sum(cart)' >src/cart.py || exit 1
git add src && git -c user.name=you -c user.email=you@example.org commit -qm 'The cart' || exit 1
dibs init --local --clients claude >/dev/null || exit 1

call() { # what is said of it, the session, the tool, its input
    printf '%s: ' "$1"
    printf '{"session_id":"%s","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"%s","tool_input":%s}' \
        "$2" "$PWD" "$3" "$4" | sh .dibs/hook claude 2>&1 >/dev/null && echo allowed
}
edit='{"file_path":"src/cart.py","old_string":"sum(cart)","new_string":"0"}'

call "ann edits src/cart.py" ann Edit "$edit" && sed -i.old 's/sum(cart)/0/' src/cart.py && rm src/cart.py.old
call "bob edits src/cart.py" bob Edit "$edit"
call "bob runs sed -i" bob Bash '{"command":"sed -i s/0/1/ src/cart.py"}'
call "bob runs git stash" bob Bash '{"command":"git stash"}'
CLAUDE_CODE_SESSION_ID=ann git -c user.name=ann -c user.email=ann@example.org commit -qam 'An empty cart' && echo "ann commits"
call "bob edits src/cart.py" bob Edit "$edit"
exit 0
