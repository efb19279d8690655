import { askedOnce } from '../kernel/asked-once.ts';
import { stepOf } from './event-outcome.ts';

/** Choice: customers name such events themselves: `password_reset`, `verify-otp`, `apply_coupon`, `gift_card_check`. */
const CODE =
  /pass_?-?word|pass_?-?code|reset|recover|verif|otp|2fa|mfa|coupon|voucher|gift|(^|[_-])(pin|code|balance)([_-]|$)/;

/** Returns whether an event of the type, which customers name themselves, asks for a password, a code, a coupon or a gift card. */
export const isCodeStep = askedOnce((eventType) => CODE.test(eventType));

/** Returns whether repeated events of this type may be attempts to guess something. */
export function isGuessStep(eventType: string): boolean {
  return stepOf(eventType) !== null || isCodeStep(eventType);
}
