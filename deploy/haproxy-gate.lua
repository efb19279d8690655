-- Asks Gatehouse about each request of a visitor: https://…/docs/gate.md, "HAProxy".
-- Needs HAProxy 2.6 or newer, built with Lua. Environment: GATEHOUSE_URL (http://127.0.0.1:8080), GATEHOUSE_GATE_KEY.
-- Sets txn.gate to "pass", "block" or "challenge", txn.gate_location for a challenge, and txn.gate_cookie for a new session.

local URL = os.getenv("GATEHOUSE_URL") .. "/v1/gate"
local KEY = os.getenv("GATEHOUSE_GATE_KEY")
-- A visitor waits no longer; then it passes.
local TIMEOUT_MS = 1000
-- Longer values are cut, so that no visitor makes the request too large.
local CHARACTERS_MAX = 1024

local function first(headers, name)
  local values = headers[name]
  if values == nil then return nil end
  for _, value in pairs(values) do return value end
  return nil
end

local function own_cookie(cookies)
  local value = string.match("; " .. (cookies or ""), "; *gh_gate=([%w_-]+)")
  return value and ("gh_gate=" .. value) or nil
end

core.register_action("gatehouse", { "http-req" }, function(txn)
  local given = txn.http:req_get_headers()
  local sent = { ["authorization"] = { "Bearer " .. KEY } }
  local function add(name, value)
    if value ~= nil and value ~= "" then sent[name] = { string.sub(value, 1, CHARACTERS_MAX) } end
  end
  local passed = { "user-agent", "accept", "accept-language", "referer", "signature", "signature-input", "signature-agent" }
  for _, name in ipairs(passed) do add(name, first(given, name)) end
  add("cookie", own_cookie(first(given, "cookie")))
  add("x-forwarded-for", txn.f:src())
  add("x-forwarded-proto", txn.f:ssl_fc() == 1 and "https" or "http")
  add("x-forwarded-host", first(given, "host"))
  add("x-forwarded-method", txn.f:method())
  -- Whole, because a path that is cut is another path.
  sent["x-forwarded-uri"] = { txn.f:pathq() }

  local answer = core.httpclient():get({ url = URL, headers = sent, timeout = TIMEOUT_MS })
  local headers = answer.headers or {}
  local gate = "pass"
  if answer.status == 403 then gate = "block" end
  if answer.status == 401 and first(headers, "location") ~= nil then gate = "challenge" end
  txn:set_var("txn.gate", gate)
  if gate == "challenge" then txn:set_var("txn.gate_location", first(headers, "location")) end
  local cookie = first(headers, "set-cookie")
  if cookie ~= nil then txn:set_var("txn.gate_cookie", cookie) end
end)
