import type { Exchange } from '../http/exchange.ts';
import { problem, type Problem } from '../contract/problem.ts';
import { JSON_FIELDS, sendProblem } from '../http/reply.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';
import type { DecisionSink } from './decision-sink.ts';
import type { DecideObserver } from './observer.ts';
import type { Pending } from './pending-decision.ts';
import { rateFields, type RateState } from './rate-windows.ts';

/** Converts the worker's answer to the response: a decision, or the problem that the worker found in the body. */
export function answerDecision(
  pending: Pending,
  answers: AnswerReader,
  at: number,
  decisionSink: DecisionSink,
  observer: DecideObserver,
): void {
  const latencyMs = performance.now() - pending.startedAtMs;
  if (answers.status(at) === 200) {
    decisionSink.decided(pending.key.customer, answers.record(at), answers.flags(at), latencyMs);
    // The worker's text stops before the latency, which only the main thread knows.
    const body = `${answers.text(at)}${Math.round(latencyMs)}}`;
    pending.exchange.send(200, JSON_FIELDS + rateFields(pending.rate), body);
    observer.decided(pending, answers, at, latencyMs);
    return;
  }
  const fault = readFault(answers, at);
  observer.scoreRefused(fault.code, answers.record(at).toString(), pending.key.customer);
  answerRefusal(pending.exchange, fault, pending.rate);
}

/** Sends an error response. Every error of decide carries the rate-limit fields. */
export function answerRefusal(exchange: Exchange, fault: Problem, rate: RateState, close = false): void {
  sendProblem(exchange, fault, { more: rateFields(rate), close });
}

function readFault(answers: AnswerReader, at: number): Problem {
  if (answers.status(at) >= 500) return problem('internal_error', 'The decision failed.');
  return JSON.parse(answers.text(at)) as Problem;
}
