/**
 * Scripts of the feed. Sent in full each time, so that a flushed or promoted store needs no loading. Each changes all of its keys or none.
 * All keys have one hash tag. None of them trusts a key to have its type: anybody may have written it.
 */

/** Lua: what is in the two keys now, as one text, and the parts of it. */
const STATE = `
local function type_of(key) return redis.call('TYPE', key).ok end
local function head_of(...)
  if type_of(KEYS[1]) ~= 'hash' then return {} end
  return redis.call('HMGET', KEYS[1], ...)
end
local function stream_of()
  local kind = type_of(KEYS[2])
  local stream = { kind = kind, last = '', length = 0 }
  if kind ~= 'stream' then return stream end
  local info = redis.call('XINFO', 'STREAM', KEYS[2])
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then stream.last = info[at + 1] end
    if info[at] == 'length' then stream.length = info[at + 1] end
  end
  stream.top = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
  return stream
end
local function mark_of(stream)
  local proof = head_of('proof')[1] or ''
  return type_of(KEYS[1]) .. ' ' .. proof .. ' ' .. stream.kind .. ' ' .. stream.last .. ' ' .. stream.length
end
`;

/** Lua: appends parts; ARGV from `from` on has number, part, t, p, c and d of each. */
const ADD = `
local function add_all(from, bytes)
  local time = redis.call('TIME')
  local ms = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
  for at = from, #ARGV, 6 do
    bytes = bytes + #ARGV[at + 5] + 200
    redis.call('XADD', KEYS[2], ARGV[at] .. '-' .. ARGV[at + 1], 't', ARGV[at + 2], 'p', ARGV[at + 3], 'm', ms,
      'b', string.format('%.0f', bytes), 'c', ARGV[at + 4], 'd', ARGV[at + 5])
  end
end
`;

/**
 * Reads the state of the stream. Keys: head, changes. Arguments: number that the node has. Returns a mark of this state, the type of the
 * head and its fields, the type of the stream, its last id, its newest entry and the first part of the change with the number.
 */
export const READ_STREAM = `${STATE}
local stream = stream_of()
local own = {}
if stream.kind == 'stream' then own = redis.call('XRANGE', KEYS[2], ARGV[1] .. '-0', ARGV[1] .. '-0') end
return { mark_of(stream), type_of(KEYS[1]), head_of('id', 'check', 'format', 'term', 'number', 'last', 'proof'),
  stream.kind, stream.last, stream.top or false, own[1] or false }
`;

/**
 * Appends changes if the newest one in the stream is the one that they follow. Keys: head, changes. Arguments: cluster; number and token of
 * the change before; then for each part its number, part, and its fields t, p, c, d.
 * Returns `ok`; `moved` with up to 100 entries after that change if the stream is at another one; `absent` if there is no stream of this
 * cluster that can be appended to.
 */
export const EXTEND = `${STATE}${ADD}
local head = head_of('id', 'number', 'last')
local stream = stream_of()
if head[1] ~= ARGV[1] or (stream.kind ~= 'stream' and stream.kind ~= 'none') then return {'absent'} end
local number, last, bytes = head[2], head[3], 0
if stream.top then
  if stream.top[1] ~= stream.last then return {'absent'} end
  number = string.match(stream.top[1], '^%d+')
  local fields = stream.top[2]
  for at = 1, #fields, 2 do
    if fields[at] == 't' then last = fields[at + 1] end
    if fields[at] == 'b' then bytes = tonumber(fields[at + 1]) or 0 end
  end
elseif stream.kind == 'stream' then return {'absent'} end
if number ~= ARGV[2] or last ~= ARGV[3] then
  if not stream.top then return {'moved', {}} end
  return {'moved', redis.call('XRANGE', KEYS[2], ARGV[2] .. '-18446744073709551615', '+', 'COUNT', 100)}
end
add_all(4, bytes)
return {'ok'}
`;

/**
 * Founds the stream instead of anything that is there, unless that has changed since it was read. Keys: head, changes. Arguments:
 * the mark; id, check, format, term, number, last and proof of the head; then parts as for EXTEND. Returns whether it did.
 */
export const FOUND = `${STATE}${ADD}
if mark_of(stream_of()) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[1], 'id', ARGV[2], 'check', ARGV[3], 'format', ARGV[4], 'term', ARGV[5], 'number', ARGV[6],
  'last', ARGV[7], 'proof', ARGV[8])
add_all(9, 0)
return 1
`;

/** Removes the changes before a number. Keys: head, changes. Arguments: cluster, number. Returns the count of removed entries. */
export const TRIM = `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
return redis.call('XTRIM', KEYS[2], 'MINID', ARGV[2] .. '-0')
`;

/**
 * Takes a key with a record that expires. Keys: the record. Arguments: what is there now (empty for nothing), the new record, ms. Returns
 * whether it did; false if another node was first.
 */
export const ACQUIRE_TURN = `
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'string' and kind ~= 'none' then redis.call('DEL', KEYS[1]) end
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`;
