/** `@gatehouse/client`: docs/client.md. */
export { Gatehouse } from '../gatehouse.ts';
export type {
  DecideOptions,
  DecideResult,
  DecisionValue,
  FailedOpenDecision,
  FailureEvent,
  GatehouseOptions,
  MadeDecision,
  OnUnavailable,
  UnavailableContext,
} from '../gatehouse.ts';
export { Challenges, type BegunChallenge, type ChallengeAnswer, type ChallengesOptions } from '../challenges.ts';
export { GatehouseError, GatehouseSettingError, GatehouseUnavailable, type CallFailure } from '../failure.ts';
export type { Api, ApiCalls } from '../api-types.ts';
export type { ReportedAs } from '../outcome-queue.ts';
export { visitorOf, type VisitorFacts, type VisitorOptions, type VisitorRequest } from '../visitor.ts';
export { verifyWebhookWeb as verifyWebhook } from '../verify-webhook-web.ts';
export type { VerifiedWebhook, VerifyInput, VerifyReason, WebhookHeaders, WebhookScheme } from '../webhook-check.ts';
