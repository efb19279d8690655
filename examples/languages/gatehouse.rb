# Gatehouse in one file: decide, report outcomes, verify webhooks. Ruby 3.0 or newer, standard library only.
# Behaviour: docs/languages.md. Copy the file, and share one Gatehouse among your threads.
require 'base64'
require 'json'
require 'net/http'
require 'openssl'
require 'securerandom'
require 'timeout'

class Gatehouse
  # A fault of your own, such as a wrong key or an invalid field. It never fails open.
  class Error < StandardError
    attr_reader :status, :code

    def initialize(status, body)
      @status = status
      @code = body['code'] || 'unexpected_answer'
      super("#{status} #{@code}: #{body['detail']}")
    end
  end

  # time_limit: seconds of a decide call in all. on_unavailable: the decision while there is no answer.
  def initialize(url, key, time_limit: 0.8, on_unavailable: 'ALLOW')
    @url = URI(url.chomp('/'))
    @key = key
    @time_limit = time_limit
    @on_unavailable = on_unavailable
    @skew = 0 # seconds that the service's clock is ahead of this one
  end

  # Returns the decision. 'failed_open' is true with 'failure' and 'detail' if the service gave none in time.
  def decide(request, idempotency_key: SecureRandom.uuid)
    status, _, answer = ask_twice(JSON.generate(request), idempotency_key, now + @time_limit)
    if status == 200 && answer['decision'].is_a?(String) && answer['request_id'].is_a?(String)
      return answer.merge('failed_open' => false)
    end

    failure = status.zero? ? answer['failure'] : failure_of(status, answer)
    raise Error.new(status, answer) if failure.nil?

    { 'decision' => @on_unavailable, 'request_id' => nil, 'score' => nil, 'reasons' => [], 'failed_open' => true,
      'failure' => failure, 'detail' => answer['detail'] || "status #{status}" }
  end

  # Reports in the background how a decision's action ended, and again after 1, 10 and 60 s while there is no answer.
  def outcome(decision, outcome)
    return if decision['request_id'].nil?

    body = JSON.generate('request_id' => decision['request_id'], 'outcome' => outcome)
    Thread.new do
      status = 0
      [0, 1, 10, 60].each do |seconds|
        sleep(seconds)
        status, = post('/v1/outcomes', body, { 'Authorization' => "Bearer #{@key}" }, now + 5)
        break if (200..499).cover?(status) && status != 429
      end
      warn("gatehouse: outcome #{outcome} was not reported: #{status}") unless status == 202
    end
  end

  # Whether a delivery is from Gatehouse. body: the raw bytes. secrets: one or several, during a rotation.
  def self.verify_webhook(secrets, headers, body, now: Time.now.to_i, tolerance: 300)
    headers = headers.transform_keys(&:downcase)
    id = headers['webhook-id'].to_s
    sent = headers['webhook-timestamp'].to_s
    return false if id.empty? || !sent.match?(/\A[0-9]{1,12}\z/) || (now - sent.to_i).abs > tolerance

    given = headers['webhook-signature'].to_s.split
    secrets.map do |secret|
      key = Base64.decode64(secret.delete_prefix('whsec_'))
      raise ArgumentError, 'this is no webhook secret' if !secret.start_with?('whsec_') || key.bytesize < 24

      signed = OpenSSL::HMAC.digest('SHA256', key, "#{id}.#{sent}.".b + body.b)
      expected = "v1,#{Base64.strict_encode64(signed)}"
      given.map { |text| OpenSSL.secure_compare(expected, text) }.any?
    end.any?
  end

  private

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # One re-send at most, with the same Idempotency-Key, so that both are one decision.
  def ask_twice(body, idempotency_key, ends)
    first = ask(body, idempotency_key, ends)
    wait = wait_before_resend(*first)
    return first if wait.nil? || now + wait + 0.005 > ends

    sleep(wait)
    ask(body, idempotency_key, ends)
  end

  def ask(body, idempotency_key, ends)
    timestamp = (Time.now.to_i + @skew).to_s
    request_id = SecureRandom.uuid
    text = ['POST', '/v1/decide', timestamp, OpenSSL::Digest::SHA256.hexdigest(body), request_id].join("\n")
    hmac_key = @key.start_with?('pk_') ? OpenSSL::Digest::SHA256.digest(@key) : @key
    headers = { 'X-SVC-Key' => @key, 'X-SVC-Ts' => timestamp, 'X-SVC-Rid' => request_id, 'Idempotency-Key' => idempotency_key,
                'X-SVC-Sig' => OpenSSL::HMAC.hexdigest('SHA256', hmac_key, text) }
    post('/v1/decide', body, headers, ends)
  end

  def wait_before_resend(status, headers, answer)
    code = answer['code']
    if status == 401 && code == 'timestamp_out_of_window' && answer['server_time']
      @skew = answer['server_time'] - Time.now.to_i
      return 0
    end
    return 0 if [502, 504].include?(status) || (status == 401 && code == 'replayed_request')
    return headers['retry-after'].to_s[/\A\d{1,4}\z/]&.to_i if [429, 503].include?(status)

    answer['failure'] == 'unreachable' ? 0 : nil
  end

  # Returns status, headers in lower case and the parsed body. Status 0: no answer, and the body has the failure.
  def post(path, body, headers, ends)
    response = Timeout.timeout([ends - now, 0.001].max) do
      http = Net::HTTP.new(@url.hostname, @url.port)
      http.use_ssl = @url.scheme == 'https'
      http.max_retries = 0
      http.start { http.post(@url.path + path, body, { 'Content-Type' => 'application/json' }.merge(headers)) }
    end
    length = response['content-length']
    raise EOFError, 'the connection was closed' if length && response.body.to_s.bytesize < length.to_i

    answer = begin
      JSON.parse(response.body.to_s)
    rescue JSON::ParserError
      {}
    end
    [response.code.to_i, response.to_hash.transform_values(&:first), answer.is_a?(Hash) ? answer : {}]
  rescue Timeout::Error => error
    [0, {}, { 'failure' => 'timeout', 'detail' => error.message }]
  rescue SystemCallError, SocketError, IOError, OpenSSL::SSL::SSLError, Net::HTTPBadResponse, Zlib::Error => error
    [0, {}, { 'failure' => 'unreachable', 'detail' => error.message }]
  end

  # nil: the request was refused, which is the caller's fault. A 200 that is not a decision comes from something in between.
  def failure_of(status, answer)
    overloaded = answer['code'] == 'overloaded'
    return overloaded ? 'overloaded' : 'rate_limited' if status == 429
    return 'overloaded' if status == 503 && overloaded

    status >= 500 || [200, 408].include?(status) ? 'server_error' : nil
  end
end
