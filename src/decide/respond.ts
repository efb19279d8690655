import type { Exchange } from '../http/exchange.ts';
import { type OverloadReason, problem, type Problem } from '../contract/problem.ts';
import { JSON_FIELDS, sendProblem } from '../http/reply.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';
import type { DecisionSink } from './decision-sink.ts';
import type { DecideObserver } from './observer.ts';
import type { Pending } from './pending-decision.ts';
import type { RateState } from '../ports/admission.ts';
import { rateFields } from './rate-fields.ts';

/**
 * Converts the worker's answer to the response: a decision, or the problem that the worker found in the body. Returns the body of a
 * decision, or the problem.
 */
export function answerDecision(
  pending: Pending,
  answers: AnswerReader,
  at: number,
  decisionSink: DecisionSink,
  observer: DecideObserver,
): string | Problem {
  const { key, exchange, startedAtMs } = pending.request;
  const latencyMs = performance.now() - startedAtMs;
  if (answers.status(at) === 200) {
    decisionSink.decided(key.customer, answers.record(at), answers.flags(at), latencyMs);
    // The worker's text stops before the latency, which only the main thread knows.
    const body = `${answers.text(at)}${Math.round(latencyMs)}}`;
    exchange.send(200, JSON_FIELDS + rateFields(pending), body);
    observer.decided(pending, answers, at, latencyMs);
    return body;
  }
  const fault = readFault(answers, at);
  observer.scoreRefused(fault.code, answers.record(at).toString(), pending.request.key);
  answerRefusal(exchange, fault, pending);
  return fault;
}

/** Sends an error response. Every error of decide carries the rate-limit fields. */
export function answerRefusal(exchange: Exchange, fault: Problem, rate: RateState, close = false): void {
  sendProblem(exchange, fault, { more: rateFields(rate), close });
}

/** Returns the problem of a request that was not decided. */
export function readFault(answers: AnswerReader, at: number): Problem {
  if (answers.status(at) >= 500) return problem('internal_error', 'The decision failed.');
  return JSON.parse(answers.text(at)) as Problem;
}

export function overloaded(reason: OverloadReason, detail: string): Problem {
  return problem('overloaded', detail, { retryAfterSeconds: 1, reason });
}

export function rateLimited(rate: RateState): Problem {
  return problem('rate_limited', 'The rate limit of this window is exceeded.', {
    retryAfterSeconds: rate.retryAfterSeconds,
  });
}
