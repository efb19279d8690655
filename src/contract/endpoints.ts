import type { Endpoint, EndpointText } from './endpoint.ts';
import { ACCOUNT_ENDPOINTS } from './endpoints/account-endpoints.ts';
import { AUDIT_ENDPOINTS } from './endpoints/audit-endpoints.ts';
import { COLLECTOR_ENDPOINTS } from './endpoints/collector-endpoints.ts';
import { CONNECTOR_ENDPOINTS } from './endpoints/connector-endpoints.ts';
import { DASHBOARD_ENDPOINTS } from './endpoints/dashboard-endpoints.ts';
import {
  DECIDE_ENDPOINT,
  DECISION_ENDPOINTS,
  GATE_ENDPOINTS,
  OUTCOME_ENDPOINTS,
  SIMULATE_ENDPOINT,
} from './endpoints/decision-endpoints.ts';
import { EXTRACTION_ENDPOINTS } from './endpoints/extraction-endpoints.ts';
import { LIST_ENDPOINTS } from './endpoints/list-endpoints.ts';
import { MODEL_ENDPOINTS } from './endpoints/model-endpoints.ts';
import { NAMED_LIST_ENDPOINTS } from './endpoints/named-list-endpoints.ts';
import { OPERATION_ENDPOINTS } from './endpoints/operation-endpoints.ts';
import { PRIVACY_ENDPOINTS } from './endpoints/privacy-endpoints.ts';
import { POLICY_ENDPOINTS } from './endpoints/policy-endpoints.ts';
import { REVIEW_ENDPOINTS } from './endpoints/review-endpoints.ts';
import { SESSION_ENDPOINTS } from './endpoints/session-endpoints.ts';
import { WATCH_ENDPOINTS } from './endpoints/watch-endpoints.ts';
import { DELIVERY_ENDPOINTS, WEBHOOK_ENDPOINTS } from './endpoints/webhook-endpoints.ts';
import { type EndpointId, ROUTES } from './routes.ts';

const TEXTS: Readonly<Record<EndpointId, EndpointText>> = {
  ...DECIDE_ENDPOINT,
  ...GATE_ENDPOINTS,
  ...ACCOUNT_ENDPOINTS,
  ...DECISION_ENDPOINTS,
  ...SIMULATE_ENDPOINT,
  ...POLICY_ENDPOINTS,
  ...PRIVACY_ENDPOINTS,
  ...LIST_ENDPOINTS,
  ...NAMED_LIST_ENDPOINTS,
  ...OUTCOME_ENDPOINTS,
  ...REVIEW_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  ...DELIVERY_ENDPOINTS,
  ...EXTRACTION_ENDPOINTS,
  ...WATCH_ENDPOINTS,
  ...SESSION_ENDPOINTS,
  ...CONNECTOR_ENDPOINTS,
  ...AUDIT_ENDPOINTS,
  ...MODEL_ENDPOINTS,
  ...DASHBOARD_ENDPOINTS,
  ...COLLECTOR_ENDPOINTS,
  ...OPERATION_ENDPOINTS,
};

/** All endpoints of the service by id, in the order of `ROUTES`. The OpenAPI document is generated from it; tests check responses by it. */
export const ENDPOINTS: Readonly<Record<EndpointId, Endpoint>> = Object.fromEntries(
  (Object.keys(ROUTES) as EndpointId[]).map((id) => [id, { ...ROUTES[id], ...TEXTS[id] }]),
) as Record<EndpointId, Endpoint>;
