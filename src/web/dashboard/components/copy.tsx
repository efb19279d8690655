import type { JSX } from 'preact';
import { toast } from './toast.tsx';
import { Button } from './fields.tsx';

/** Copies a text and shows a toast. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${what}`);
  } catch {
    toast(`The browser does not allow copying. ${what}: ${text}`);
  }
}

export function Copy({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  return <Button kind="quiet" small icon="copy" label={`Copy ${what}`} onClick={() => void copyText(text, what)} />;
}
