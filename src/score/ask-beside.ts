import type { CustomerNumber } from '../kernel/brand.ts';
import type { SharedAnswers } from '../kernel/shared-answers.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import type { EmailFacts, IpFacts } from '../risk/facts.ts';
import { MAIL_CHECKS, mailQuestion } from '../risk/signals/mail-question.ts';

/** The request that asks. */
export interface AskingRequest {
  readonly customer: CustomerNumber;
  readonly ip: IpFacts | null;
  readonly nowSeconds: number;
  /** See `GatheredFor`. */
  readonly isReal: boolean;
}

/** Choice: a sign-up has one e-mail, seldom a second one. */
const EMAILS_ASKED = 2;

/** Returns the answer to a question, 0 if it is not known: then the question is left, to be looked up beside the decisions. */
export function askBeside(
  answers: Pick<SharedAnswers, 'ask' | 'find'>,
  question: string,
  { customer, ip, nowSeconds, isReal }: AskingRequest,
): number {
  const answer = answers.find(question, nowSeconds);
  if (answer === 0 && isReal && !isTestCustomer(customer))
    answers.ask({ question, customer, source: ip?.kind === 'valid' ? ip.networks.site : '' });
  return answer;
}

/** Returns the first domain that is known to receive no mail. */
export function deadMailDomainOf(
  answers: Pick<SharedAnswers, 'ask' | 'find'>,
  emails: readonly EmailFacts[],
  request: AskingRequest,
): string | null {
  for (const email of emails.slice(0, EMAILS_ASKED)) {
    const question = mailQuestion(email);
    if (question !== null && askBeside(answers, question, request) === MAIL_CHECKS.none) return email.domain;
  }
  return null;
}
