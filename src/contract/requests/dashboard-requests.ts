import * as z from 'zod';

const CREDENTIAL_CHARACTERS_MAX = 128;
const credential = z.string().min(1).max(CREDENTIAL_CHARACTERS_MAX).optional();

export const SIGN_IN = z
  .object({
    key: credential.meta({ description: 'A secret key, sk_live_…', writeOnly: true }),
    code: credential.meta({ description: 'The code of a sign-in link; it works once', writeOnly: true }),
  })
  .refine(({ key, code }) => (key === undefined) !== (code === undefined), 'This must have either key or code.')
  .meta({ id: 'SignIn' });

export const SIGN_OUT = z
  .object({ all: z.boolean().optional().meta({ description: 'Ends all sessions of the key, not only this one' }) })
  .meta({ id: 'SignOut' });
