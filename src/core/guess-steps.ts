/** Choice: customers name such events themselves: `password_reset`, `verify-otp`, `apply_coupon`, `gift_card_check`. */
const CODE =
  /pass_?-?word|pass_?-?code|reset|recover|verif|otp|2fa|mfa|coupon|voucher|gift|(^|[_-])(pin|code|balance)([_-]|$)/;

/** Choice: types that are looked at once and kept; customers use a handful, and each text of a request must not be one more. */
const TYPES_KEPT = 256;
const asked = new Map<string, boolean>();

/** Whether an event of the type, which customers name themselves, asks for a password, a code, a coupon or a gift card. */
export function isCodeStep(eventType: string): boolean {
  const known = asked.get(eventType);
  if (known !== undefined) return known;
  const is = CODE.test(eventType);
  if (asked.size >= TYPES_KEPT) asked.clear();
  asked.set(eventType, is);
  return is;
}

/** Whether somebody who sends such events again and again may be guessing something. */
export function isGuessStep(eventType: string): boolean {
  return eventType === 'login' || eventType === 'checkout' || eventType === 'payment' || isCodeStep(eventType);
}
