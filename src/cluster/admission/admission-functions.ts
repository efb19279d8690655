import { FunctionLibrary } from '../store/functions.ts';

/** Nodes in the value of an id: `expiry × ID_NODES + node`, an integer, which the store keeps without a string. */
export const ID_NODES = 2 ** 20;
/**
 * Choice: an id stays this much longer than it is valid by the clock of the node that admitted it, because other nodes' clocks may differ.
 * The clock of the calling node decides whether it is valid.
 */
export const ID_SPARE_SECONDS = 60;
/** Choice: a window, and one more for nodes whose clocks are behind or were set back. */
export const WINDOW_KEPT_SECONDS = 180;

/** Reply of `admit` for a request over its rate. */
export const OVER_RATE = -1;

/**
 * `admit`: requests of one key in one rate window at one second, in the order of their arrival.
 *
 *   keys   the window; the visitors' counts if there is a share; the ids of the requests that have one
 *   args   allowance, share (0: no visitors), now (Unix seconds), then for each request: the value of its id (empty: no id), and with a
 *          share its visitor (empty: none)
 *   returns for each request OVER_RATE, or 2 × what remains, plus 1 if its id was used before: then it was not counted
 *
 * `release`: keys are ids, args their values; deletes those that have exactly this value.
 * `remember`: keys are ids, args now, then their values; adds those that are not known.
 */
export const ADMISSION_FUNCTIONS = new FunctionLibrary(
  'admission',
  ['admit', 'release', 'remember'],
  `local function expiry_of(value)
  return math.floor(tonumber(value) / ${ID_NODES})
end

local function seconds_of(value, now)
  return math.max(1, expiry_of(value) - now + ${ID_SPARE_SECONDS})
end

local function is_used(key, value, now)
  local before = redis.call('SET', key, value, 'EX', seconds_of(value, now), 'NX', 'GET')
  if not before then return 0 end
  if expiry_of(before) > now then return 1 end
  redis.call('SET', key, value, 'EX', seconds_of(value, now))
  return 0
end

local function admit(keys, args)
  local allowance, share, now = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  local before = tonumber(redis.call('GET', keys[1]) or 0)
  local used, next_key, step = before, 2, 1
  if share > 0 then next_key, step = 3, 2 end
  local visits, changed, verdicts = {}, {}, {}
  for i = 4, #args, step do
    local value, visitor = args[i], ''
    if share > 0 then visitor = args[i + 1] end
    local left, visited = allowance - used, 0
    if visitor ~= '' then
      visited = visits[visitor] or tonumber(redis.call('HGET', keys[2], visitor) or 0)
      left = math.min(left, share - visited)
    end
    if left <= 0 then
      verdicts[#verdicts + 1] = ${OVER_RATE}
    else
      local replayed = 0
      if value ~= '' then replayed = is_used(keys[next_key], value, now) end
      if replayed == 0 then
        used = used + 1
        left = left - 1
        if visitor ~= '' then
          visits[visitor] = visited + 1
          changed[visitor] = true
        end
      end
      verdicts[#verdicts + 1] = 2 * left + replayed
    end
    if value ~= '' then next_key = next_key + 1 end
  end
  if used > before then
    redis.call('INCRBY', keys[1], used - before)
    if before == 0 then redis.call('EXPIRE', keys[1], ${WINDOW_KEPT_SECONDS}) end
  end
  local are_new = next(changed) ~= nil and redis.call('EXISTS', keys[2]) == 0
  for visitor in pairs(changed) do redis.call('HSET', keys[2], visitor, visits[visitor]) end
  if are_new then redis.call('EXPIRE', keys[2], ${WINDOW_KEPT_SECONDS}) end
  return verdicts
end

local function release(keys, args)
  local released = 0
  for i, key in ipairs(keys) do
    if redis.call('GET', key) == args[i] then released = released + redis.call('DEL', key) end
  end
  return released
end

local function remember(keys, args)
  local now, added = tonumber(args[1]), 0
  for i, key in ipairs(keys) do
    if redis.call('SET', key, args[i + 1], 'EX', seconds_of(args[i + 1], now), 'NX') then added = added + 1 end
  end
  return added
end
`,
);
