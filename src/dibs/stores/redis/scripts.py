"""The Lua that the Redis engine runs on the server: read, and check-then-apply. It holds no business rule.

Keys, all under one hash tag so that they lie on one node of a cluster:
- `v`     hash     key → number of the commit that wrote it, its two index entries, its JSON text; separated by newlines
- `k`     zset     every key, all with score 0, so that ranges come in the order of the bytes
- `i1` `i2` zset   index entry, NUL, key; the same
- `head`  hash     commit, seq, link, now; id and schema; run: the run id of the server that all this is known to be on;
                   since: the first commit of the epoch; void: what rests on commits before `since` is not settled yet;
                   moving, moved: another store is being filled, or is in charge (moved_mark.py); origin: the move that
                   filled this one; offset: ms that the store's clock is ahead of the server's wall clock, because it
                   continues from the earlier store, or from before the server's clock was set back; below 0 after the
                   server's clock was set forward (clock_pace.py); expire: ms without a commit after which the workspace
                   expires; sure: the server kept all answered commits when this run began; kept: restarts of such a
                   server, as `last commit:number to continue from`; size: the number of rows and entries after the last
                   commit, to notice an evicted or deleted key. A move leaves it out.
- `log`   stream   one entry an event, whose id is its number: commit, now, body, link; wall, if it is not now
- `seals` hash     number of the event → link, newline, body
- `gate`  string   the transaction that may commit alone for a moment, after it lost too many races
- `t:ID`  string   the commit number of transaction ID, so that sending it again applies it once
- `w:NAME` list    a wake for the waiter under NAME

A read has a signature over the keys and versions that it saw. APPLY compares signatures only if the commit number has
changed since. If one differs, it applies nothing and answers with fresh reads, so that another run costs no round trip.
"""

from __future__ import annotations

# Shared by both scripts: reads. `at` is the place in ARGV; a read is either
#   f LIMIT NKEYS key… NRANGES (low high)…     some keys, and ranges of keys
#   p LIMIT keys N prefixes…                   the same with prefixes of keys: joined by newlines, all keys in one word,
#                                              the prefixes of one first letter in one
#   s INDEX LIMIT low high                     a range of an index
READS = """
local at = 1
local function arg() local value = ARGV[at]; at = at + 1; return value end
local V, K, I, HEAD = KEYS[1], KEYS[2], {KEYS[3], KEYS[4]}, KEYS[5]

local function row(seen, key, listed)
  local value = redis.call('HGET', V, key)
  seen[#seen + 1] = key
  if not value then
    if listed then error('DAMAGED a key without its value') end
    seen[#seen + 1] = '-'
    return false
  end
  local version = string.match(value, '^(%d+)\\n[^\\n]*\\n[^\\n]*\\n')
  if not version then error('DAMAGED a value that dibs did not write') end
  seen[#seen + 1] = version
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
          rows[#rows + 1] = row(seen, key, true)
        end
      end
    end
  end
  seen[#seen + 1] = tostring(cut)
  return {values, rows, cut}
end

local FEW = 6  -- keys; where fewer lie between the first prefix and the last, one look finds those of all

local function keys_of(seen, limit, prefixes, rows)
  local first, last = string.match(prefixes, '^[^\\n]*'), string.match(prefixes, '.*\\n(.*)') or prefixes
  local span = redis.call('ZRANGEBYLEX', K, '[' .. first, '(' .. last .. '\\255', 'LIMIT', 0, FEW)
  if not span[1] then return 0 end
  for prefix in string.gmatch(prefixes, '[^\\n]+') do
    local room, found = limit - #rows / 2, span
    if span[FEW] then
      found = redis.call('ZRANGEBYLEX', K, '[' .. prefix, '(' .. prefix .. '\\255', 'LIMIT', 0, room + 1)
    end
    for n = 1, #found do
      local key = found[n]
      if string.sub(key, 1, #prefix) == prefix then
        if room <= 0 then return 1 end
        room = room - 1
        rows[#rows + 1] = key
        rows[#rows + 1] = row(seen, key, true)
      end
    end
  end
  return 0
end

local function fetch_prefixes(seen)
  local limit, keys, groups = tonumber(arg()), arg(), tonumber(arg())
  local values, rows, cut = {}, {}, 0
  for key in string.gmatch(keys, '[^\\n]+') do values[#values + 1] = row(seen, key) or '' end
  for n = 1, groups do
    local prefixes = arg()
    if cut == 0 then cut = keys_of(seen, limit, prefixes, rows) end
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
      rows[#rows + 1] = row(seen, key, true)
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
    local kind = arg()
    if kind == 'p' then what = fetch_prefixes(seen)
    elseif kind == 'f' then what = fetch(seen)
    else what = scan(seen) end
    what[#what + 1] = redis.sha1hex(table.concat(seen, '\\1'))
    found[n] = what
  end
  return found
end

local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Outcomes of transactions, by their ids, for ten to twenty minutes: two hashes take turns. They have no expiry of
-- their own, so no eviction policy drops a part of them unnoticed.
local function outcomes() return string.sub(V, 1, -2) .. 't:0', string.sub(V, 1, -2) .. 't:1' end

local function outcome_count()
  local one, two = outcomes()
  return redis.call('HLEN', one) + redis.call('HLEN', two)
end

local function whole(number) return string.format('%d', number) end

local function size()  -- it also fails, before anything was written, where a key is of another type
  local SEALS = string.sub(V, 1, -2) .. 'seals'
  return {redis.call('HLEN', V), redis.call('ZCARD', K), redis.call('ZCARD', I[1]), redis.call('ZCARD', I[2]),
    redis.call('XLEN', KEYS[6]), redis.call('HLEN', SEALS)}
end
"""

# Is the workspace on this server, of this schema, and certain?
CHECK = """
local head = redis.call('HMGET', HEAD, 'commit', 'seq', 'link', 'now', 'run', 'id', 'schema', 'since', 'void',
  'moved', 'moving', 'offset', 'expire', 'size', 'outcomes')
if not head[1] then return {'empty', tostring(redis.call('EXISTS', V, K, KEYS[6]))} end
if head[7] ~= '1' then return {'schema', head[7] or '-'} end
if head[10] then return {'moved', head[10]} end
if not (tonumber(head[1]) and tonumber(head[2])
  and tonumber(head[4]) and tonumber(head[8]) and head[3] and head[5]) then
  return {'damaged'}
end
if head[5] ~= run then return {'run', head[5], head[1]} end
if head[9] and not settling and not looking then return {'void', head[8]} end
if settling and not head[9] then return {'settled'} end
local there = sized and size()
if there and head[14] and head[14] ~= table.concat(there, ' ') then return {'damaged'} end
if sized and head[15] and head[15] ~= whole(outcome_count()) then return {'damaged'} end
local offset = tonumber(head[12] or '0')
"""

# ARGV: run id; 1 if this settles, 2 if it only reads the log's end, 3 if APPLY follows, which checks for missing parts;
# a commit that was answered on this machine, with the number and the link of its last event (empty if none is
# remembered); number of reads, the reads. `other`: the log has a different event at that number of this epoch. Answers:
# status, commit, seq, link, last now, clock, how far the clock is ahead of the wall's, since, the reads.
READ = (
    READS
    + """
local run, settling, witness = arg(), arg(), arg()
local looking, sized = settling == '2', settling ~= '3'
settling = settling == '1'
"""
    + CHECK
    + """
local w_commit, w_seq, w_link = string.match(witness, '^(%d+) (%d+) (%x+)$')
if w_commit and tonumber(w_commit) >= tonumber(head[8]) then
  local there = redis.call('XRANGE', KEYS[6], w_seq .. '-1', w_seq .. '-1')[1]
  for n = 1, there and #there[2] or 0, 2 do
    if there[2][n] == 'l' and there[2][n + 1] ~= w_link then return {'other', head[1]} end
  end
end
return {'ok', head[1], head[2], head[3], head[4], whole(clock() + offset), whole(offset), head[8],
  read_all(tonumber(arg()))}
"""
)

# ARGV: in one word, separated by blanks: run id, whether this settles, transaction id, number of this run, the commit
# number of the reads (after `>`: a guess, whose reads are always checked), `now`, the number of lost races, whether no
# commit may have come between, whether to check the user's permissions first, number of reads, the place after them,
# the number of commits. Then the reads, their signatures; the events of each commit, the puts of each (an empty text
# deletes), seals, prune (through which event, and its seal; both for one commit alone), wakes. Answers `done`, the last
# commit's number, the number of the applied run (the answer to an earlier one may have been lost), the time, and the
# last event's number and link.
APPLY = (
    READS
    + """
local run, settling, id, attempt, base, now, lost, exact, ask, reads, past, commits = string.match(arg(),
  '^(%S+) (%d) (%S+) (%d+) (%S+) (%d+) (%d+) (%d) (%d) (%d+) (%d+) (%d+)$')
settling, exact, ask, now = settling == '1', exact == '1', ask == '1', tonumber(now)
local looking, sized, TAG = false, true, string.sub(V, 1, -2)
-- asked of a first sending too: it may arrive after the one that was sent in its place
local one, two = outcomes()
local known = redis.call('HGET', one, id) or redis.call('HGET', two, id)
if known then
  local space = string.find(known, ' ', 1, true)
  return {'done', string.sub(known, 1, space - 1), string.sub(known, space + 1)}
end
"""
    + CHECK
    + """
if ask and redis.acl_check_cmd then  -- a command refused halfway would leave half a commit
  for _, one in ipairs({
    {'HSET', V, 'a', 'b'}, {'HDEL', V, 'a'}, {'ZADD', K, '0', 'a'}, {'ZREM', K, 'a'}, {'ZADD', I[1], '0', 'a'},
    {'ZADD', I[2], '0', 'a'}, {'XADD', KEYS[6], '*', 'a', 'b'}, {'XTRIM', KEYS[6], 'MINID', '0'},
    {'HSET', HEAD, 'a', 'b'}, {'HSET', TAG .. 'seals', 'a', 'b'}, {'HKEYS', TAG .. 'seals'},
    {'HDEL', TAG .. 'seals', 'a'}, {'HSET', one, 'a', 'b'}, {'UNLINK', one}, {'SET', TAG .. 'gate', '0', 'PX', '1'},
    {'DEL', TAG .. 'gate'}, {'LPUSH', TAG .. 'w:0', '1'}, {'LTRIM', TAG .. 'w:0', '0', '0'},
    {'PEXPIRE', TAG .. 'w:0', '1'},
  }) do
    if not redis.acl_check_cmd(unpack(one)) then return {'noperm', one[1]} end
  end
end
local gate = redis.call('GET', TAG .. 'gate')
if gate and gate ~= id then return {'gated', redis.call('PTTL', TAG .. 'gate')} end
reads = tonumber(reads)
local time = clock() + offset
local set_back = time < tonumber(head[4]) - 100
if set_back then  -- the server's clock was: time goes on from where it stood
  offset = offset + tonumber(head[4]) - time
  time = tonumber(head[4])
end
if head[11] and tonumber(string.match(head[11], '^%S+ %S+ (%d+)')) > time then return {'moving', head[11]} end
local fresh
local timely = time - now <= 2000 and now - time <= 1000  -- a clock far ahead would take all others with it
if head[1] ~= base or not timely then
  fresh = read_all(reads)
  local least = tonumber(string.match(base, '^>(%d+)$') or '0')
  local good = timely and not (exact and head[1] ~= base) and tonumber(head[1]) >= least
  for n = 1, reads do
    if arg() ~= fresh[n][#fresh[n]] then good = false end
  end
  if not good then
    if tonumber(lost) >= 3 then redis.call('SET', TAG .. 'gate', id, 'PX', 500) end
    return {'again', head[1], head[2], head[3], head[4], whole(time), whole(offset), head[8], fresh}
  end
end
at = tonumber(past)
if gate then redis.call('DEL', TAG .. 'gate') end
local before = tonumber(head[1])
local number
local last = math.max(tonumber(head[4]), now)

local function count(place, added) there[place] = there[place] + added end

local function forget(key)
  local old = redis.call('HGET', V, key)
  if not old then return false end
  local one, two = string.match(old, '^%d+\\n([^\\n]*)\\n([^\\n]*)\\n')
  if one and one ~= '' then count(3, -redis.call('ZREM', I[1], one .. '\\0' .. key)) end
  if two and two ~= '' then count(4, -redis.call('ZREM', I[2], two .. '\\0' .. key)) end
  return true
end

local function entry(text)
  if not string.find(text, '\\26', 1, true) then return text end
  return (string.gsub(text, '\\26', string.format('%016d', tonumber(number))))
end

-- events first: should the log not take one, nothing was written yet
local seq, link = tonumber(head[2]), head[3]
local at_last, at_wall = whole(last), whole(last - offset)
for commit = 1, tonumber(commits) do
  number = whole(before + commit)
  for n = 1, tonumber(arg()) do
    local body, digest = arg(), arg()
    seq = seq + 1
    local place = whole(seq)
    link = redis.sha1hex(link .. '|' .. place .. '|' .. number .. '|' .. at_last .. '|' .. at_wall .. '|' .. digest)
    if offset == 0 then
      redis.call('XADD', KEYS[6], place .. '-1', 'c', number, 'n', at_last, 'b', body, 'l', link)
    else
      redis.call('XADD', KEYS[6], place .. '-1', 'c', number, 'n', at_last, 'b', body, 'l', link, 'w', at_wall)
    end
    count(5, 1)
  end
end
for commit = 1, tonumber(commits) do
  number = whole(before + commit)
  for n = 1, tonumber(arg()) do
    local key, text, one, two = arg(), arg(), entry(arg()), entry(arg())
    if text == '' then
      if forget(key) then
        count(1, -redis.call('HDEL', V, key))
        count(2, -redis.call('ZREM', K, key))
      end
    else
      if not forget(key) then count(2, redis.call('ZADD', K, 0, key)) end
      if string.find(text, '"\\\\u001a"', 1, true) then text = string.gsub(text, '"\\\\u001a"', number) end
      count(1, redis.call('HSET', V, key, number .. '\\n' .. one .. '\\n' .. two .. '\\n' .. text))
      if one ~= '' then count(3, redis.call('ZADD', I[1], 0, one .. '\\0' .. key)) end
      if two ~= '' then count(4, redis.call('ZADD', I[2], 0, two .. '\\0' .. key)) end
    end
  end
end
for n = 1, tonumber(arg()) do  -- seals stand at the event before this commit
  count(6, redis.call('HSET', TAG .. 'seals', head[2], head[3] .. '\\n' .. arg()))
end
local through, seal = arg(), arg()
if through ~= '' then
  count(5, -redis.call('XTRIM', KEYS[6], 'MINID', whole(tonumber(through) + 1) .. '-1'))
  for _, seq in ipairs(redis.call('HKEYS', TAG .. 'seals')) do
    if tonumber(seq) < tonumber(seal) then count(6, -redis.call('HDEL', TAG .. 'seals', seq)) end
  end
end
redis.call('HSET', HEAD, 'commit', number, 'seq', whole(seq), 'link', link, 'now', at_last,
  'size', table.concat(there, ' '))
if set_back then redis.call('HSET', HEAD, 'offset', whole(offset)) end
local span = whole(math.floor(last / 600000))
local now_kept = tonumber(span) % 2 == 0 and one or two
if redis.call('HGET', now_kept, 'span') ~= span then
  redis.call('UNLINK', now_kept)
  redis.call('HSET', now_kept, 'span', span)
end
redis.call('HSET', now_kept, id, number .. ' ' .. attempt)
redis.call('HSET', HEAD, 'outcomes', whole(outcome_count()))
for n = 1, tonumber(arg()) do
  local name = TAG .. 'w:' .. arg()
  redis.pcall('LPUSH', name, '1')
  redis.pcall('LTRIM', name, 0, 0)
  redis.pcall('PEXPIRE', name, 60000)
end
if head[13] then  -- the URL says after how long without a commit all of it may go
  for n = 1, 6 do redis.call('PEXPIRE', KEYS[n], head[13]) end
  for _, name in ipairs({TAG .. 'seals', one, two}) do redis.call('PEXPIRE', name, head[13]) end
end
return {'done', number, attempt, whole(time), whole(seq), link}
"""
)

# The server's clock was set forward. KEYS: head. ARGV: the offset that was seen, the difference in ms.
HOLD_BACK = """
local offset = redis.call('HGET', KEYS[1], 'offset') or '0'
if offset ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'offset', string.format('%d', tonumber(offset) - tonumber(ARGV[2])))
return 1
"""

# The transaction with the gate ends without a commit. KEYS: gate. ARGV: transaction id.
LEAVE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""

# Is this still the server whose data was read, and would it take a write now? A primary that the others have left may
# not (min-replicas-to-write). KEYS: head. ARGV: run id, the clock.
CERTIFY = """
if redis.call('HGET', KEYS[1], 'run') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'certified', ARGV[2])
return 1
"""

# In the next two, a number that is not above the last commit is raised by whole epochs, so that it begins where this
# server's numbers begin (epoch.py).
# The server was restarted or replaced, and no answered commit can be missing as far as this caller knows: continue with
# numbers above all that were ever given. A machine that remembers more sees the loss by `kept`.
# KEYS: head. ARGV: the stored run id, the new one, the number to continue from.
KEEP = """
local head = redis.call('HMGET', KEYS[1], 'commit', 'run', 'kept', 'sure')
if not head[1] or head[2] ~= ARGV[1] or head[4] ~= '1' then return 0 end
local number = ARGV[3]
if tonumber(head[1]) >= tonumber(number) then
  number = string.format('%.0f', number + math.ceil((head[1] + 1 - number) / 1048576) * 1048576)
end
local kept = (head[3] or '') .. head[1] .. ':' .. number .. ' '
while #kept > 4000 do kept = string.sub(kept, string.find(kept, ' ', 1, true) + 1) end
redis.call('HSET', KEYS[1], 'commit', number, 'run', ARGV[2], 'kept', kept)
return 1
"""

# An answered commit may be missing: begin a new epoch, with numbers above all that were ever given.
# KEYS: head. ARGV: the stored run id, the new one, the number to continue from, whether the server keeps all answered
# commits, the commit number that is known to be there.
EPOCH = """
local head = redis.call('HMGET', KEYS[1], 'commit', 'run')
if not head[1] or head[2] ~= ARGV[1] or (ARGV[5] ~= '' and head[1] ~= ARGV[5]) then return '' end
local number = ARGV[3]
if tonumber(head[1]) >= tonumber(number) then
  number = string.format('%.0f', number + math.ceil((head[1] + 1 - number) / 1048576) * 1048576)
end
redis.call('HSET', KEYS[1], 'commit', number, 'since', string.format('%.0f', tonumber(number) + 1), 'run', ARGV[2],
  'void', '1', 'sure', ARGV[4])
redis.call('HDEL', KEYS[1], 'kept')
return number
"""

# Create a workspace on this server. KEYS: head, and all other keys. ARGV: number, link, id, schema, run id, whether the
# server keeps all answered commits, whether commits were lost.
BEGIN = """
if redis.call('HLEN', KEYS[1]) > 0 then return 0 end
for n = 2, #KEYS do if redis.call('EXISTS', KEYS[n]) == 1 then return -1 end end
redis.call('HSET', KEYS[1], 'commit', ARGV[1], 'seq', '0', 'link', ARGV[2], 'now', '0', 'id', ARGV[3],
  'schema', ARGV[4], 'run', ARGV[5], 'since', string.format('%.0f', tonumber(ARGV[1]) + 1), 'sure', ARGV[6])
if ARGV[7] == '1' then redis.call('HSET', KEYS[1], 'void', '1') end
return 1
"""

# Everything before this epoch is settled. KEYS: head. ARGV: since.
SETTLED = """
if redis.call('HGET', KEYS[1], 'since') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'void')
"""
