import { MODEL_CHOICE } from './requests/model-requests.ts';
import type * as z from 'zod';
import { BACKTEST, RULE_CHECK, RULE_PATCH, RULE_PUT } from './requests/rule-requests.ts';
import { KEY_ROTATION, NEW_KEY } from './requests/key-requests.ts';
import { LABEL_CHANGE, REVIEW_CHANGE } from './requests/judgement-requests.ts';
import { NAMED_LIST_PUT, NAMED_LIST_RESTORE } from './requests/named-list-requests.ts';
import { PERSON_ERASURE, PERSON_EXPORT } from './requests/privacy-requests.ts';
import { RECOVERY, ROTATION } from './requests/webhook-requests.ts';
import type { EndpointId } from './routes.ts';

/** The bodies that a schema alone validates. `schemaBody` reads them. */
export const BODIES = {
  createKey: NEW_KEY,
  rotateKey: KEY_ROTATION,
  chooseModel: MODEL_CHOICE,
  labelDecision: LABEL_CHANGE,
  judgeShadowReview: REVIEW_CHANGE,
  rotateSecret: ROTATION,
  recoverDeliveries: RECOVERY,
  startBacktest: BACKTEST,
  checkRule: RULE_CHECK,
  putRule: RULE_PUT,
  changeRule: RULE_PATCH,
  putNamedList: NAMED_LIST_PUT,
  restoreNamedList: NAMED_LIST_RESTORE,
  erasePerson: PERSON_ERASURE,
  exportPerson: PERSON_EXPORT,
} satisfies Readonly<Partial<Record<EndpointId, z.ZodType>>>;
