/**
 * Scripts of the feed. Sent in full each time, so that a flushed or promoted store needs no loading. Each changes all of its keys or none.
 * All keys have one hash tag.
 */

/** Lua: appends the parts of one change after (number, last). */
const ADD = `
local function id(number, part) return string.format('%.0f-%.0f', number, part) end
local function add(number, part, t, p, m, b, c, d)
  redis.call('XADD', KEYS[2], id(number, part), 't', t, 'p', p, 'm', m, 'b', b, 'c', c, 'd', d)
end
`;

/**
 * Appends a writer's batch unless it was appended before. Keys: head, changes. Arguments: cluster, run, number of the batch, number that
 * the writer's node has applied; then for each change the count of its parts and the parts.
 * Returns `ok` or `done` with the newest number; `behind` with it if the store has lost changes that the node has applied; `absent`;
 * `other` with the id of the other cluster.
 */
export const APPEND = `${ADD}
local head = redis.call('HMGET', KEYS[1], 'id', 'number', 'last', 'bytes', 'w:' .. ARGV[2])
if not head[1] then return {'absent', ''} end
if head[1] ~= ARGV[1] then return {'other', head[1]} end
local number, last, bytes = tonumber(head[2]), head[3], tonumber(head[4])
if number < tonumber(ARGV[4]) then return {'behind', head[2]} end
local done = head[5] and tonumber(string.match(head[5], '^%d+')) or 0
if done >= tonumber(ARGV[3]) then return {'done', head[2]} end
local time = redis.call('TIME')
local ms = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local at, index = 5, 0
while at <= #ARGV do
  local parts = tonumber(ARGV[at])
  local token = ARGV[2] .. ':' .. ARGV[3] .. ':' .. index
  number = number + 1
  for part = 0, parts - 1 do
    local data = ARGV[at + 1 + part]
    bytes = bytes + #data + 200
    add(number, part, token, last, ms, string.format('%.0f', bytes), parts, data)
  end
  last = token
  index = index + 1
  at = at + 1 + parts
end
local newest = string.format('%.0f', number)
redis.call('HSET', KEYS[1], 'number', newest, 'last', last, 'bytes', string.format('%.0f', bytes),
  'w:' .. ARGV[2], ARGV[3] .. ' ' .. newest)
return {'ok', newest}
`;

/**
 * Founds the cluster, or founds it again after the store has lost it or fell behind. Keys: head, changes. Arguments: cluster, check,
 * format, number, last, number that the founder has applied. Returns whether it did, and id, check, format, number and last of the head.
 */
export const FOUND = `
local head = redis.call('HMGET', KEYS[1], 'id', 'check', 'format', 'number', 'last')
if not head[1] or (head[1] == ARGV[1] and tonumber(head[4]) < tonumber(ARGV[6])) then
  redis.call('DEL', KEYS[1], KEYS[2])
  redis.call('HSET', KEYS[1], 'id', ARGV[1], 'check', ARGV[2], 'format', ARGV[3], 'number', ARGV[4], 'last', ARGV[5], 'bytes', '0')
  return {'founded', ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]}
end
return {'found', head[1], head[2], head[3], head[4], head[5]}
`;

/**
 * Puts back changes that the store has lost. Keys: head, changes. Arguments: cluster; then for each part its number, part, and its fields
 * t, p, m, b, c, d. Those that the store has are skipped. Returns `ok` or, if one is missing in between or is another, `gap`; and the
 * newest number.
 */
export const RESTORE = `${ADD}
local head = redis.call('HMGET', KEYS[1], 'id', 'number', 'last')
if head[1] ~= ARGV[1] then return {'other', head[1] or ''} end
local number, last = tonumber(head[2]), head[3]
local result = 'ok'
for at = 2, #ARGV, 8 do
  local n, part, t, p = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
  if n > number then
    if n ~= number + 1 or p ~= last then result = 'gap' break end
    add(n, part, t, p, ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], ARGV[at + 7])
    if part == tonumber(ARGV[at + 6]) - 1 then
      number, last = n, t
      local run, batch = string.match(t, '^(.-):(%d+):')
      redis.call('HSET', KEYS[1], 'number', string.format('%.0f', n), 'last', t, 'bytes', ARGV[at + 5],
        'w:' .. run, batch .. ' ' .. string.format('%.0f', n))
    end
  end
end
return {result, string.format('%.0f', number)}
`;

/**
 * Removes the changes before a number, and what is known of writers whose last batch was among them. Keys: head, changes. Arguments:
 * cluster, number. Returns the count of removed entries.
 */
export const TRIM = `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  if string.sub(all[at], 1, 2) == 'w:' then
    local newest = tonumber(string.match(all[at + 1], ' (%d+)$'))
    if newest and newest < tonumber(ARGV[2]) then redis.call('HDEL', KEYS[1], all[at]) end
  end
end
return redis.call('XTRIM', KEYS[2], 'MINID', ARGV[2] .. '-0')
`;
