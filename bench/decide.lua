-- Sends the signed requests of a file once each, in file order. Each entry is its length (4 bytes, little-endian) followed by the request
-- bytes. Called by bench/decide.ts through wrk; prints one line of JSON at the end.
local file

function init(args)
  file = assert(io.open(args[1], "rb"))
  file:setvbuf("full", 1048576)
end

function request()
  local head = file:read(4)
  if head == nil then
    -- All requests are used up: from here on the server rejects them as replays, which shows in the error count.
    file:seek("set", 0)
    head = file:read(4)
  end
  local a, b, c, d = head:byte(1, 4)
  return file:read(a + b * 256 + c * 65536 + d * 16777216)
end

function done(summary, latency, requests)
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"failed":%d,"p50_ms":%.4f,"p99_ms":%.4f,"p999_ms":%.4f}\n',
    summary.requests, summary.duration / 1e6,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency:percentile(99.9) / 1e3))
end
