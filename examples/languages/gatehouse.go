// Package gatehouse is Gatehouse in one file: decide, report outcomes, verify webhooks. Go 1.19 or newer, standard library only.
// Behaviour: docs/languages.md. Copy the file, and share one Client among your goroutines.
package gatehouse

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Error is a fault of your own, such as a wrong key or an invalid field. It never fails open.
type Error struct {
	Status       int
	Code, Detail string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Detail) }

// Decision is the answer. FailedOpen is true with Failure and Detail if the service gave none in time; RequestID is empty then.
type Decision struct {
	Decision   string   `json:"decision"`
	RequestID  string   `json:"request_id"`
	Score      float64  `json:"score"`
	Reasons    []string `json:"reasons"`
	FailedOpen bool     `json:"-"`
	Failure    string   `json:"-"`
	Detail     string   `json:"-"`
}

type Client struct {
	URL, Key      string
	TimeLimit     time.Duration // of a decide call in all; 0: 800 ms
	OnUnavailable string        // the decision while there is no answer; empty: ALLOW
	skew          atomic.Int64  // seconds that the service's clock is ahead of this one
}

// answer has status 0 and a failure if there is no answer.
type answer struct {
	status          int
	header          http.Header
	body            []byte
	failure, detail string
	problem         struct {
		Code, Detail string
		ServerTime   int64 `json:"server_time"`
	}
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Decide asks for a decision; request is anything that encoding/json writes. Its error is an *Error, or one of encoding/json.
func (c *Client) Decide(ctx context.Context, request any) (Decision, error) {
	return c.DecideOnce(ctx, request, newID())
}

// DecideOnce makes calls with the same key and body within 30 s one decision.
func (c *Client) DecideOnce(ctx context.Context, request any, idempotencyKey string) (Decision, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return Decision{}, err
	}
	limit := c.TimeLimit
	if limit == 0 {
		limit = 800 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result := c.askTwice(ctx, body, idempotencyKey)
	var decision Decision
	if result.status == 200 && json.Unmarshal(result.body, &decision) == nil && decision.Decision != "" && decision.RequestID != "" {
		return decision, nil
	}
	failure := result.failure
	if result.status != 0 {
		failure = failureOf(result)
	}
	if failure == "" {
		return Decision{}, &Error{result.status, result.problem.Code, result.problem.Detail}
	}
	detail := result.detail + result.problem.Detail
	if detail == "" {
		detail = fmt.Sprintf("status %d", result.status)
	}
	fallback := c.OnUnavailable
	if fallback == "" {
		fallback = "ALLOW"
	}
	return Decision{Decision: fallback, FailedOpen: true, Failure: failure, Detail: detail}, nil
}

// Outcome reports in the background how a decision's action ended, and again after 1, 10 and 60 s while there is no answer.
func (c *Client) Outcome(decision Decision, outcome string) {
	if decision.RequestID == "" {
		return
	}
	body, _ := json.Marshal(map[string]string{"request_id": decision.RequestID, "outcome": outcome})
	go func() {
		var result answer
		for _, seconds := range []time.Duration{0, 1, 10, 60} {
			time.Sleep(seconds * time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			result = c.post(ctx, "/v1/outcomes", body, map[string]string{"Authorization": "Bearer " + c.Key})
			cancel()
			if result.status == 202 {
				return
			}
			if result.status >= 400 && result.status < 500 && result.status != 429 {
				break
			}
		}
		log.Printf("gatehouse: outcome %s was not reported: %d %s", outcome, result.status, result.detail)
	}()
}

// askTwice sends again once at most, with the same Idempotency-Key, so that both are one decision.
func (c *Client) askTwice(ctx context.Context, body []byte, idempotencyKey string) answer {
	first := c.ask(ctx, body, idempotencyKey)
	wait := c.waitBeforeResend(first)
	if end, _ := ctx.Deadline(); wait < 0 || time.Until(end) < wait+5*time.Millisecond {
		return first
	}
	time.Sleep(wait)
	return c.ask(ctx, body, idempotencyKey)
}

func (c *Client) ask(ctx context.Context, body []byte, idempotencyKey string) answer {
	timestamp, id, hash := strconv.FormatInt(time.Now().Unix()+c.skew.Load(), 10), newID(), sha256.Sum256(body)
	key := []byte(c.Key)
	if strings.HasPrefix(c.Key, "pk_") {
		digest := sha256.Sum256(key)
		key = digest[:]
	}
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, strings.Join([]string{"POST", "/v1/decide", timestamp, hex.EncodeToString(hash[:]), id}, "\n"))
	return c.post(ctx, "/v1/decide", body, map[string]string{"X-SVC-Key": c.Key, "X-SVC-Ts": timestamp, "X-SVC-Rid": id,
		"X-SVC-Sig": hex.EncodeToString(mac.Sum(nil)), "Idempotency-Key": idempotencyKey})
}

var retrySeconds = regexp.MustCompile(`^\d{1,4}$`)

// waitBeforeResend is negative if nothing is sent again.
func (c *Client) waitBeforeResend(first answer) time.Duration {
	status, code := first.status, first.problem.Code
	switch {
	case status == 401 && code == "timestamp_out_of_window" && first.problem.ServerTime != 0:
		c.skew.Store(first.problem.ServerTime - time.Now().Unix())
		return 0
	case status == 502 || status == 504 || status == 401 && code == "replayed_request" || first.failure == "unreachable":
		return 0
	case (status == 429 || status == 503) && retrySeconds.MatchString(first.header.Get("Retry-After")):
		seconds, _ := strconv.Atoi(first.header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second
	}
	return -1
}

func (c *Client) post(ctx context.Context, path string, body []byte, headers map[string]string) (result answer) {
	fail := func(err error) answer {
		if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
			return answer{failure: "timeout", detail: err.Error()}
		}
		return answer{failure: "unreachable", detail: err.Error()}
	}
	request, err := http.NewRequestWithContext(ctx, "POST", strings.TrimRight(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return fail(err)
	}
	// With it net/http itself sends again because of the Idempotency-Key, with the same request id.
	request.GetBody = nil
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := noRedirects.Do(request)
	if err != nil {
		return fail(err)
	}
	defer response.Body.Close()
	result.status, result.header = response.StatusCode, response.Header
	if result.body, err = io.ReadAll(io.LimitReader(response.Body, 1<<20)); err != nil {
		return fail(err)
	}
	if json.Unmarshal(result.body, &result.problem) != nil || result.problem.Code == "" {
		result.problem.Code = "unexpected_answer"
	}
	return result
}

// failureOf is empty if the request was refused, which is the caller's fault. A 200 that is not a decision is from something in between.
func failureOf(a answer) string {
	isOverloaded := a.problem.Code == "overloaded"
	switch {
	case isOverloaded && (a.status == 429 || a.status == 503):
		return "overloaded"
	case a.status == 429:
		return "rate_limited"
	case a.status >= 500 || a.status == 200 || a.status == 408:
		return "server_error"
	}
	return ""
}

// newID never repeats.
func newID() string {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		panic(err)
	}
	return hex.EncodeToString(id)
}

var digits = regexp.MustCompile(`^[0-9]{1,12}$`)

// VerifyWebhook returns whether a delivery is from Gatehouse. secrets: one or several, during a rotation. body: the raw bytes.
func VerifyWebhook(secrets []string, header http.Header, body []byte, now time.Time, tolerance time.Duration) (bool, error) {
	id, sent := header.Get("webhook-id"), header.Get("webhook-timestamp")
	if id == "" || !digits.MatchString(sent) {
		return false, nil
	}
	seconds, _ := strconv.ParseInt(sent, 10, 64)
	if age := now.Unix() - seconds; age > int64(tolerance/time.Second) || -age > int64(tolerance/time.Second) {
		return false, nil
	}
	found := 0
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < 24 || !strings.HasPrefix(secret, "whsec_") {
			return false, errors.New("this is no webhook secret")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(append([]byte(id+"."+sent+"."), body...))
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
			found |= subtle.ConstantTimeCompare(expected, []byte(given))
		}
	}
	return found == 1, nil
}
