"""The Lua that the Redis engine runs on the server: read, and check-then-apply. No business rule is in it.

Keys, all under one hash tag so that they lie on one node of a cluster:
- `v`     hash     key → number of the commit that wrote it, its two index entries, its JSON text; separated by newlines
- `k`     zset     every key, all with score 0, so that ranges come in the order of the bytes
- `i1` `i2` zset   index entry, NUL, key; the same
- `head`  hash     commit, seq, link, now; id and schema; run: the run id of the server that all this is known to be on;
                   since: the first commit of the epoch; void: what was before `since` is still to be settled
- `log`   stream   one entry an event, whose id is its number
- `seals` hash     number of the event → link, newline, body
- `gate`  string   who may commit alone for a moment, after losing too often
- `t:ID`  string   the number of the commit that transaction ID ended in, so that sending it again does it once
- `w:NAME` list    a wake for whoever waits under NAME

A read has a signature over the keys and versions that it saw. Apply compares signatures only if the commit number moved
since; where one differs it applies nothing and answers with all reads done anew, so that running again costs no trip.
"""

from __future__ import annotations

# Shared by both: how a read is done. ARGV is walked with `at`; a read is either
#   f LIMIT NKEYS key… NRANGES (low high)…     or     s INDEX LIMIT low high
READS = """
local at = 1
local function arg() local value = ARGV[at]; at = at + 1; return value end
local V, K, I, HEAD = KEYS[1], KEYS[2], {KEYS[3], KEYS[4]}, KEYS[5]

local function row(seen, key)
  local value = redis.call('HGET', V, key)
  seen[#seen + 1] = key
  if not value then seen[#seen + 1] = '-'; return false end
  local cut = string.find(value, '\\n', 1, true)
  seen[#seen + 1] = string.sub(value, 1, cut - 1)
  return value
end

local function fetch(seen)
  local limit, keys = tonumber(arg()), tonumber(arg())
  local values, rows, cut = {}, {}, 0
  for n = 1, keys do values[n] = row(seen, arg()) or '' end
  local ranges = tonumber(arg())
  for n = 1, ranges do
    local low, high = arg(), arg()
    if cut == 0 then
      local room = limit - #rows / 2
      local found = redis.call('ZRANGEBYLEX', K, low, high, 'LIMIT', 0, room + 1)
      for place, key in ipairs(found) do
        if place > room then cut = 1 else
          rows[#rows + 1] = key
          rows[#rows + 1] = row(seen, key)
        end
      end
    end
  end
  seen[#seen + 1] = tostring(cut)
  return {values, rows, cut}
end

local function scan(seen)
  local index, limit, low, high = tonumber(arg()), tonumber(arg()), arg(), arg()
  local rows, cut = {}, 0
  local found = redis.call('ZRANGEBYLEX', I[index], low, high, 'LIMIT', 0, limit + 1)
  for place, member in ipairs(found) do
    if place > limit then cut = 1 else
      local nul = string.find(member, '\\0', 1, true)
      local key = string.sub(member, nul + 1)
      rows[#rows + 1] = string.sub(member, 1, nul - 1)
      rows[#rows + 1] = key
      rows[#rows + 1] = row(seen, key)
    end
  end
  seen[#seen + 1] = tostring(cut)
  return {rows, cut}
end

local function read_all(count)
  local found = {}
  for n = 1, count do
    local seen = {}
    local what
    if arg() == 'f' then what = fetch(seen) else what = scan(seen) end
    what[#what + 1] = redis.sha1hex(table.concat(seen, '\\1'))
    found[n] = what
  end
  return found
end

local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function whole(number) return string.format('%.0f', number) end
"""

# Is the workspace on this server, of this schema, and is what is there certain?
CHECK = """
local head = redis.call('HMGET', HEAD, 'commit', 'seq', 'link', 'now', 'run', 'id', 'schema', 'since', 'void')
if not head[1] then return {'empty', tostring(redis.call('EXISTS', V, K, KEYS[6]))} end
if head[7] ~= '1' then return {'schema', head[7]} end
if head[5] ~= run then return {'run', head[5], head[1]} end
if head[9] and not settling then return {'void', head[8]} end
"""

# ARGV: run id, whether this settles, number of reads, the reads.
# Answers: status, commit, seq, link, last now, clock, id, since, the reads.
READ = (
    READS
    + """
local run, settling = arg(), arg() == '1'
"""
    + CHECK
    + """
return {'ok', head[1], head[2], head[3], head[4], whole(clock()), head[6], head[8], read_all(tonumber(arg()))}
"""
)

# ARGV: run id, whether this settles, transaction id, the commit number that was read at, `now`, how often it lost already; number of reads,
# the place behind them, the reads, their signatures; then puts (an empty text deletes), events, seals, prune, wakes.
APPLY = (
    READS
    + """
local run, settling, id, base, now, lost = arg(), arg() == '1', arg(), arg(), tonumber(arg()), tonumber(arg())
local TAG = string.sub(V, 1, -2)
local known = redis.call('GET', TAG .. 't:' .. id)
if known then return {'done', known} end
"""
    + CHECK
    + """
local gate = redis.call('GET', TAG .. 'gate')
if gate and gate ~= id then return {'gated', redis.call('PTTL', TAG .. 'gate')} end
local reads, past = tonumber(arg()), tonumber(arg())
local time = clock()
local fresh
if head[1] ~= base or time - now > 2000 then
  fresh = read_all(reads)
  local good = time - now <= 2000
  for n = 1, reads do
    if arg() ~= fresh[n][#fresh[n]] then good = false end
  end
  if not good then
    if lost >= 3 then redis.call('SET', TAG .. 'gate', id, 'PX', 500) end
    return {'again', head[1], head[2], head[3], head[4], whole(time), head[6], head[8], fresh}
  end
else
  at = past
end
if gate then redis.call('DEL', TAG .. 'gate') end
local number = whole(tonumber(head[1]) + 1)
local last = math.max(tonumber(head[4]), now)

local function forget(key)
  local old = redis.call('HGET', V, key)
  if not old then return false end
  local one = string.find(old, '\\n', 1, true)
  local two = string.find(old, '\\n', one + 1, true)
  local three = string.find(old, '\\n', two + 1, true)
  if two > one + 1 then redis.call('ZREM', I[1], string.sub(old, one + 1, two - 1) .. '\\0' .. key) end
  if three > two + 1 then redis.call('ZREM', I[2], string.sub(old, two + 1, three - 1) .. '\\0' .. key) end
  return true
end

for n = 1, tonumber(arg()) do
  local key, text, one, two = arg(), arg(), arg(), arg()
  if text == '' then
    if forget(key) then redis.call('HDEL', V, key); redis.call('ZREM', K, key) end
  else
    if not forget(key) then redis.call('ZADD', K, 0, key) end
    text = string.gsub(text, '"\\\\u001a"', number)
    redis.call('HSET', V, key, number .. '\\n' .. one .. '\\n' .. two .. '\\n' .. text)
    if one ~= '' then redis.call('ZADD', I[1], 0, one .. '\\0' .. key) end
    if two ~= '' then redis.call('ZADD', I[2], 0, two .. '\\0' .. key) end
  end
end

local seq, link = tonumber(head[2]), head[3]
for n = 1, tonumber(arg()) do
  local body, digest = arg(), arg()
  seq = seq + 1
  link = redis.sha1hex(link .. '|' .. whole(seq) .. '|' .. number .. '|' .. whole(last) .. '|' .. whole(last) .. '|' .. digest)
  redis.call('XADD', KEYS[6], whole(seq) .. '-1', 'c', number, 'n', whole(last), 'b', body, 'l', link)
end
for n = 1, tonumber(arg()) do  -- seals stand at the event before this commit
  redis.call('HSET', TAG .. 'seals', head[2], head[3] .. '\\n' .. arg())
end
local through = arg()
if through ~= '' then redis.call('XTRIM', KEYS[6], 'MINID', whole(tonumber(through) + 1) .. '-1') end
redis.call('HSET', HEAD, 'commit', number, 'seq', whole(seq), 'link', link, 'now', whole(last))
redis.call('SET', TAG .. 't:' .. id, number, 'PX', 600000)
for n = 1, tonumber(arg()) do
  local name = TAG .. 'w:' .. arg()
  redis.call('LPUSH', name, '1')
  redis.call('LTRIM', name, 0, 0)
  redis.call('PEXPIRE', name, 60000)
end
return {'done', number}
"""
)

# The server was restarted, or is another one, and nothing that was answered can be missing: go on.
# KEYS: head. ARGV: the run id that is there, the new one.
KEEP = """
if redis.call('HGET', KEYS[1], 'run') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'run', ARGV[2])
return 1
"""

# Something that was answered may be missing: a new epoch, whose numbers are above all that were ever given.
# KEYS: head. ARGV: the run id that is there, the new one, the number to go on from.
EPOCH = """
local head = redis.call('HMGET', KEYS[1], 'commit', 'run')
if not head[1] or head[2] ~= ARGV[1] then return 0 end
local number = ARGV[3]
if tonumber(head[1]) >= tonumber(number) then number = string.format('%.0f', tonumber(head[1]) + 1) end
redis.call('HSET', KEYS[1], 'commit', number, 'since', string.format('%.0f', tonumber(number) + 1), 'run', ARGV[2], 'void', '1')
return 1
"""

# A workspace begins on this server. KEYS: head. ARGV: number, link, id, schema, run id.
BEGIN = """
if redis.call('HSETNX', KEYS[1], 'commit', ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'seq', '0', 'link', ARGV[2], 'now', '0', 'id', ARGV[3], 'schema', ARGV[4], 'run', ARGV[5],
  'since', string.format('%.0f', tonumber(ARGV[1]) + 1))
return 1
"""

# What was before this epoch is settled. KEYS: head. ARGV: since.
SETTLED = """
if redis.call('HGET', KEYS[1], 'since') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'void')
"""
