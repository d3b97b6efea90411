#!/bin/sh
# Makes a repository in ./shop in which almost everything went wrong that can, for `dibs check` (docs/guides/oversight.md).
# A few processes stay for ten minutes: a waiting agent, a client, `dibs sweep --watch`; `--end` ends them.
set -eu
unset DIBS_AGENT DIBS_STORE DIBS_WORKSPACE 2>/dev/null || true

if [ "${1:-}" = "--end" ]; then
    while read -r pid; do kill "$pid" 2>/dev/null || true; done <shop/.git/chaos-pids
    exit 0
fi

quiet() { "$@" >/dev/null 2>&1 || true; } # a refusal is what it is for
stays() { "$@" >/dev/null 2>&1 & echo $! >>.git/chaos-pids; }
as() { agent=$1; shift; git -c "user.name=$agent" -c "user.email=$agent@example.org" "$@"; }

mkdir shop && cd shop
git init -q -b main
mkdir api
for name in stock price tax; do echo "$name = 5" >"api/$name.py"; done
git add -A && as you commit -qm 'the shop' # before there is a workspace
git init -q --bare .git/there.git && git remote add origin .git/there.git && git push -q origin main
quiet dibs init --clients claude --rules full
cat >>.dibs/config.toml <<'END'

[tasks]
breaker_failures = 2
breaker_pause = "30m"

[alerts]
command = "cat >> .dibs/local/alerts.json"

[files]
state = "docs/STATE.md"

[roles.assign]
boss = "orchestrator"
END
git add -A && DIBS_AGENT=boss as you commit -qm 'a workspace of dibs'
stays dibs sweep --watch --as boss

# An agent that is told the rules, which then change.
quiet dibs boot --as dora
echo '11. No deploys on Fridays.' >>.dibs/rules.md
for agent in alice bert slow nina boss; do quiet dibs boot --as "$agent"; done

# A deadlock: alice holds stock and waits for price; bert holds price and asks for stock.
quiet dibs claim db:stock --as alice
quiet dibs claim db:price --as bert
stays dibs claim db:price --as alice --wait 10m
until dibs status --json | grep -q '"waiting":\[{'; do sleep 0.1; done
quiet dibs claim db:stock --as bert --wait 1s

# A claim that is held for more than twice the expected time.
quiet dibs claim db:invoices --as slow --expect 1s

# A dead agent with a claim.
sh -c 'dibs boot --as ghost --pid $$; dibs claim db:orders --as ghost; exec sleep 600' >/dev/null 2>&1 &
until dibs status --json | grep -q '"db:orders"'; do sleep 0.1; done
kill -9 $!

# An agent that was stopped.
quiet dibs boot --as rogue
quiet dibs kill rogue --why 'it rewrote the history' --as boss

# A task that is quarantined, one that is done again without a key, and an agent that only fails.
quiet dibs task add 'migrate the tables' --id migrate --attempts 1 --key migrate --as nina
quiet dibs task claim migrate --as nina
quiet dibs task fail migrate --class transient --why 'no such table' --as nina
quiet dibs task add 'enrich the data' --id enrich --as nina
quiet dibs task claim enrich --as data_enricher
quiet dibs task release enrich --as data_enricher
quiet dibs task claim enrich --as data_enricher
quiet dibs task done enrich --as data_enricher
for number in 1 2; do
    quiet dibs task add "lint part $number" --id "lint$number" --key "lint$number" --as nina
    quiet dibs task claim "lint$number" --as clumsy
    quiet dibs task fail "lint$number" --class permanent --why 'it does not parse' --as clumsy
done

# A file of one agent that another one changes by a program, past the guards. The other one's client is a process that
# stays, and does what it reads from a pipe.
quiet dibs claim api/tax.py --as nina
cat >.git/hook.sh <<'END'
hook() { # event, tool, its input
    printf '{"session_id":"bob","cwd":"%s","hook_event_name":"%s","tool_name":"%s","tool_input":%s,"tool_use_id":"u1"}' \
        "$PWD" "$1" "$2" "$3" | .dibs/hook claude
}
hook SessionStart '' '{}'
hook PreToolUse Bash '{"command":"python3 fix.py"}'
echo 'tax = 0' >api/tax.py
hook PostToolUse Bash '{"command":"python3 fix.py"}'
touch .git/done
END
mkfifo .git/bob
stays sh -c "exec python3 -c 'import os, sys; [os.system(line) for line in sys.stdin]' <.git/bob"
exec 3>.git/bob
# Keeps the pipe open, and ends everything after ten minutes if nobody does before.
stays sh -c 'sleep 600 & trap "kill $!; exit" TERM; wait; while read -r pid; do kill "$pid"; done <.git/chaos-pids'
echo 'sh .git/hook.sh' >&3
until [ -e .git/done ]; do sleep 0.05; done

# A commit past the guard, of a file that another agent holds.
quiet dibs claim api/price.py --as nina
echo 'price = 4' >api/price.py
DIBS_AGENT=bert as bert commit -qnm 'cheaper' -- api/price.py >/dev/null 2>&1

# A push to a protected branch past the guard; the process that looks for trouble has seen the pushes before it.
until [ -e .dibs/local/pushes ]; do sleep 0.1; done
as bert push -q --no-verify origin main

# A run with an error that nobody handles, and a task that one agent has by its file and another one in the queue.
quiet dibs run start 'the spring sale' --id spring --as boss
quiet dibs run error 'the prices of tea are missing' --run spring --as boss
mkdir -p .agent/registry/scoped .agent/registry/claimed
echo 'Fix the login' >.agent/registry/scoped/TASK-103
quiet env DIBS_AGENT=boss dibs import
quiet dibs task move TASK-103 planned --as boss
quiet dibs task claim TASK-103 --as nina
mv .agent/registry/scoped/TASK-103 .agent/registry/claimed/TASK-103
echo "alice:$(date +%s)" >.agent/registry/claimed/TASK-103

# A deploy that nobody verified.
quiet dibs deploy prod --unverified --unsynced --dirty --as nina -- true

# An event that nobody subscribes to, and a file that everybody wants.
quiet dibs emit stock.changed '{"left": 2}' --as alice
quiet dibs claim api/stock.py --as nina
for number in 1 2 3 4 5 6; do
    quiet dibs claim api/stock.py --as alice
    quiet dibs claim api/stock.py --as bert
done
for kind in hold bypass; do
    until dibs alerts --json | grep -q "\"kind\":\"$kind\""; do sleep 0.2; done
done
until dibs log --kind push. --json | grep -q push.unverified; do sleep 0.2; done
