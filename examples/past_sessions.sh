#!/bin/sh
# Two made-up sessions of Claude Code in one working tree, as the client keeps them, for `dibs lookback FOLDER`. The first
# argument is the folder for them.
mkdir -p "$1" || exit 1

told() { # session, time of the day, who speaks, the message
    printf '{"type":"%s","sessionId":"%s","cwd":"/home/you/shop","version":"2.1.30","timestamp":"2026-05-04T%sZ","message":{"content":%s}}\n' \
        "$3" "$1" "$2" "$4" >>"$folder/$1.jsonl"
}
call() { # session, time, tool, its input
    number=$((number + 1))
    told "$1" "$2" assistant "[{\"type\":\"tool_use\",\"id\":\"$1-$number\",\"name\":\"$3\",\"input\":$4}]"
    told "$1" "$2" user "[{\"type\":\"tool_result\",\"tool_use_id\":\"$1-$number\",\"content\":\"done\"}]"
}
folder=$1 number=0
cart='"file_path":"/home/you/shop/src/cart.py"'

told ann 10:00:00 user '"Do SHOP-12: the total of an empty cart"'
call ann 10:01:00 Read "{$cart}"
call ann 10:02:10 Edit "{$cart,\"old_string\":\"return sum(cart)\",\"new_string\":\"return sum(cart) if cart else 0\"}"
told bob 10:02:30 user '"SHOP-12 is urgent, please fix it"'
call bob 10:02:58 Edit "{$cart,\"old_string\":\"return sum(cart)\",\"new_string\":\"return float(sum(cart))\"}"
call bob 10:04:00 Bash '{"command":"git stash && pytest -q"}'
call ann 10:06:00 Write '{"file_path":"/home/you/shop/docs/cart.md","content":"An empty cart costs nothing.\n"}'
call bob 10:07:30 Write '{"file_path":"/home/you/shop/docs/cart.md","content":"Totals are floats.\n"}'
call bob 10:08:00 Bash '{"command":"git add -A && git commit -m SHOP-12"}'
