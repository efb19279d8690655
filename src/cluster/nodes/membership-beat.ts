import type { Reply } from '../store/link.ts';
import { replyList, replyText } from '../store/store-calls.ts';

/**
 * One heartbeat, atomically and on the store's clock. A row is `epoch time state home payload`, separated by spaces; only the payload is
 * encrypted, because the script compares the rest.
 *
 *   KEYS  nodes (a hash by id), what all nodes share (a hash)
 *   ARGV  mode (join, beat, stop, leave), id, epoch, home, gone ms, payload, whether it is forced, then ids whose rows are removed first
 *
 * Returns status, time, epoch, and all rows as a flat list. `id_taken`: a living node seems to have the id. Only the payloads show whether
 * that is so: anybody may have written the rows, and a node whose id no other node has taken repeats the call with force. A node that was
 * declared dead and comes back keeps its epoch, unless another one has the id meanwhile.
 */
export const BEAT_SCRIPT = `
local mode, id, epoch, home = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local isForced = ARGV[7] == '1'
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end
end
for at = 8, #ARGV do redis.call('HDEL', KEYS[1], ARGV[at]) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function answer(status)
  return { status, tostring(now), epoch, redis.call('HGETALL', KEYS[1]) }
end
local row = redis.call('HGET', KEYS[1], id)
local theirEpoch, theirTime, theirState, theirHome = '0', '0', 'left', ''
if row then theirEpoch, theirTime, theirState, theirHome = string.match(row, '^(%d+) (%d+) (%a+) (%x+) ') end
if not theirEpoch then theirEpoch, theirTime, theirState, theirHome = '0', '0', 'left', '' end
local isOther = theirEpoch ~= epoch and theirEpoch ~= '0'
local isAlive = theirState == 'up' and now - tonumber(theirTime) <= tonumber(ARGV[5])
if mode == 'join' then
  if isOther and isAlive and theirHome ~= home and not isForced then return answer('id_taken') end
  if not row and redis.call('HLEN', KEYS[1]) >= 256 then
    local rows = redis.call('HGETALL', KEYS[1])
    for at = 1, #rows, 2 do
      local seen = tonumber(string.match(rows[at + 1], '^%d+ (%d+) ') or '0')
      if now - seen > 86400000 then redis.call('HDEL', KEYS[1], rows[at]) end
    end
    if redis.call('HLEN', KEYS[1]) >= 256 then return answer('full') end
  end
  local last = tonumber(redis.call('HGET', KEYS[2], 'epoch') or '0') or 0
  if not (last < now + 86400000) then last = 0 end
  epoch = string.format('%.0f', math.max(last + 1, now))
  redis.call('HSET', KEYS[2], 'epoch', epoch)
elseif isOther and tonumber(theirEpoch) > tonumber(epoch) and not isForced then
  return answer('id_taken')
end
local state = ({ stop = 'stopped', leave = 'left' })[mode] or 'up'
redis.call('HSET', KEYS[1], id, epoch .. ' ' .. string.format('%.0f', now) .. ' ' .. state .. ' ' .. home .. ' ' .. ARGV[6])
return answer('ok')
`;

/**
 * Ends the membership of a node whose server does not run: nodes that live take over its work at once, and miss nothing of it.
 *
 *   KEYS  nodes
 *   ARGV  id, home
 */
export const LEAVE_SCRIPT = `
local row = redis.call('HGET', KEYS[1], ARGV[1])
if not row then return 0 end
local times, home, payload = string.match(row, '^(%d+ %d+) %a+ (%x+) (.*)$')
if home ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], times .. ' left ' .. home .. ' ' .. payload)
return 1`;

export type NodeState = 'up' | 'stopped' | 'left';

export interface BeatRow {
  readonly id: string;
  readonly epoch: number;
  /** On the store's clock, Unix ms. */
  readonly lastBeatMs: number;
  readonly state: NodeState;
  readonly payload: Buffer;
}

export interface Beat {
  readonly status: string;
  readonly nowMs: number;
  readonly epoch: number;
  readonly rows: readonly BeatRow[];
}

const ROW = /^(\d{1,16}) (\d{1,16}) (up|stopped|left) ([0-9a-f]+) /;
/** Longer than the text before any payload. */
const HEAD_BYTES = 128;

/** Returns null for a reply that the script does not give. Rows that no node writes are left out. */
export function readBeat(reply: Reply): Beat | null {
  const [status, nowMs, epoch, rows] = replyList(reply);
  if (!Array.isArray(rows) || !Number.isSafeInteger(Number(replyText(nowMs)))) return null;
  return {
    status: replyText(status),
    nowMs: Number(replyText(nowMs)),
    epoch: Number(replyText(epoch)),
    rows: rowsOf(replyList(rows)),
  };
}

function rowsOf(flat: readonly Reply[]): readonly BeatRow[] {
  const rows: BeatRow[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const value = flat[at + 1];
    if (!Buffer.isBuffer(value)) continue;
    const head = ROW.exec(value.toString('latin1', 0, HEAD_BYTES));
    if (head === null) continue;
    const [all, epoch, lastBeatMs, state] = head;
    const payload = value.subarray(all.length);
    rows.push({
      id: replyText(flat[at]),
      epoch: Number(epoch),
      lastBeatMs: Number(lastBeatMs),
      state: state as NodeState,
      payload,
    });
  }
  return rows;
}
