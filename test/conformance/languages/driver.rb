require_relative 'gatehouse'

CLIENTS = {}

def decide(url, key, limit_ms, email, outcome = '')
  client = CLIENTS[[url, key, limit_ms]] ||=
    Gatehouse.new(url, key, time_limit: limit_ms.to_f / 1000, on_unavailable: 'SOFT_CHALLENGE')
  decision = client.decide({ event_type: 'login', session_token: 'languages', ip: '81.2.69.160', entity_keys: { email: email } })
  client.outcome(decision, outcome) unless outcome.empty?
  return ['open', decision['decision'], decision['failure']] if decision['failed_open']

  ['made', decision['decision'], decision['request_id']]
rescue Gatehouse::Error => error
  ['error', error.status, error.code]
end

def verify(secrets, id, sent, signature, body, now)
  headers = { 'webhook-id' => id, 'webhook-timestamp' => sent, 'webhook-signature' => signature }
  [Gatehouse.verify_webhook(secrets.split(',', -1), headers, Base64.decode64(body), now: now.to_i)]
end

$stdout.sync = true
$stdin.set_encoding('UTF-8')
while (line = $stdin.gets)
  operation, *rest = line.chomp.split("\t", -1)
  answer = begin
    operation == 'decide' ? decide(*rest) : verify(*rest)
  rescue ArgumentError => error
    ['thrown', error.message]
  end
  puts answer.join("\t")
end
