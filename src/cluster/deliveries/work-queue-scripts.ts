/**
 * The scripts of `RedisWorkQueue`, each atomic over the keys of one lane:
 *
 *   1 order   sorted set: unfinished work by its number of publishing
 *   2 rows    hash: work id → value
 *   3 claims  hash: work id → `until:token`
 *   4 ended   sorted set: finished work by its end, so that it is never published again
 *   5 counts  hash: numbers that only rise
 */

/** ARGV: now, end of the lease, limit, consumer, rows scanned at most → id, value, token, … */
export const CLAIM = `
local now, limit, rowsMax = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[5])
local found = {}
for from = 0, rowsMax - 1, 100 do
  local ids = redis.call('ZRANGE', KEYS[1], from, from + 99)
  for _, id in ipairs(ids) do
    if #found >= 3 * limit then return found end
    local claim = redis.call('HGET', KEYS[3], id)
    if not claim or tonumber(string.match(claim, '^(%d+)')) <= now then
      local token = ARGV[4] .. '/' .. redis.call('HINCRBY', KEYS[5], 'claimed', 1)
      redis.call('HSET', KEYS[3], id, ARGV[2] .. ':' .. token)
      found[#found + 1] = id
      found[#found + 1] = redis.call('HGET', KEYS[2], id)
      found[#found + 1] = token
    end
  end
  if #ids < 100 then return found end
end
return found`;

const HOLDS = `
local function holds(id, token)
  local claim = redis.call('HGET', KEYS[3], id)
  return claim and string.match(claim, '^%d+:(.+)$') == token
end`;

/** ARGV: id, token, … */
export const RELEASE = `${HOLDS}
for i = 1, #ARGV, 2 do
  if holds(ARGV[i], ARGV[i + 1]) then redis.call('HDEL', KEYS[3], ARGV[i]) end
end
return 0`;

/** ARGV: now, time before which ends are forgotten, then id, token, … → 1 for each that was held, else 0. */
export const SETTLE = `${HOLDS}
local settled = {}
for i = 3, #ARGV, 2 do
  local id = ARGV[i]
  local own = holds(id, ARGV[i + 1])
  if own then
    redis.call('ZREM', KEYS[1], id)
    redis.call('HDEL', KEYS[2], id)
    redis.call('HDEL', KEYS[3], id)
    redis.call('ZADD', KEYS[4], ARGV[1], id)
  end
  settled[#settled + 1] = own and 1 or 0
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', ARGV[2], 'LIMIT', 0, 100)) do
  redis.call('ZREM', KEYS[4], id)
end
return settled`;

/** ARGV: id, value, … Replaces the values of work that has not ended; unknown work is published. */
export const REPLACE = `
for i = 1, #ARGV, 2 do
  local id = ARGV[i]
  if not redis.call('ZSCORE', KEYS[4], id) then
    if redis.call('HEXISTS', KEYS[2], id) == 0 then
      redis.call('ZADD', KEYS[1], redis.call('HINCRBY', KEYS[5], 'published', 1), id)
    end
    redis.call('HSET', KEYS[2], id, ARGV[i + 1])
  end
end
return 0`;

/** ARGV: ids. Removes work of a lane that has one consumer, without a claim. */
export const WITHDRAW = `
redis.call('ZREM', KEYS[1], unpack(ARGV))
redis.call('HDEL', KEYS[2], unpack(ARGV))
return redis.call('HDEL', KEYS[3], unpack(ARGV))`;

/** Ends all claims of a lane. */
export const RECLAIM = `return redis.call('DEL', KEYS[3])`;

/** ARGV: ids → 1 for each that has ended, else 0. */
export const ENDED = `
local ended = {}
for i, id in ipairs(ARGV) do ended[i] = redis.call('ZSCORE', KEYS[4], id) and 1 or 0 end
return ended`;
