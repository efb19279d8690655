package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"driver/gatehouse"
)

var clients = map[string]*gatehouse.Client{}

func decide(words []string) []string {
	name := strings.Join(words[:3], " ")
	limitMs, _ := strconv.Atoi(words[2])
	client := clients[name]
	if client == nil {
		limit := time.Duration(limitMs) * time.Millisecond
		client = &gatehouse.Client{URL: words[0], Key: words[1], TimeLimit: limit, OnUnavailable: "SOFT_CHALLENGE"}
		clients[name] = client
	}
	decision, err := client.Decide(context.Background(), map[string]any{
		"event_type": "login", "session_token": "languages", "ip": "81.2.69.160", "entity_keys": map[string]string{"email": words[3]},
	})
	var refused *gatehouse.Error
	if errors.As(err, &refused) {
		return []string{"error", strconv.Itoa(refused.Status), refused.Code}
	}
	if len(words) > 4 && words[4] != "" {
		client.Outcome(decision, words[4])
	}
	if decision.FailedOpen {
		return []string{"open", decision.Decision, decision.Failure}
	}
	return []string{"made", decision.Decision, decision.RequestID}
}

func verify(words []string) []string {
	body, _ := base64.StdEncoding.DecodeString(words[4])
	seconds, _ := strconv.ParseInt(words[5], 10, 64)
	header := http.Header{}
	for at, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		header.Set(name, words[at+1])
	}
	isVerified, err := gatehouse.VerifyWebhook(strings.Split(words[0], ","), header, body, time.Unix(seconds, 0), 300*time.Second)
	if err != nil {
		return []string{"thrown", err.Error()}
	}
	return []string{strconv.FormatBool(isVerified)}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), "\t")
		answer := verify
		if words[0] == "decide" {
			answer = decide
		}
		fmt.Println(strings.Join(answer(words[1:]), "\t"))
	}
}
