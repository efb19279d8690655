import type { ComponentChildren, JSX } from 'preact';
import { CodeBlock } from './code-block.tsx';
import { Dialog } from './dialog.tsx';
import { Button } from './fields.tsx';

export interface ShownSecret {
  readonly label: string;
  readonly text: string;
  /** Where it belongs. */
  readonly note?: string;
}

/** The only place where a secret that the service made is shown. `children` says where to store it, `after` until when an older one is valid. */
export function ShownOnceDialog({
  title,
  secrets,
  after,
  onClose,
  children,
}: {
  /** `The key`: the title adds that it is shown once. */
  readonly title: string;
  readonly secrets: readonly ShownSecret[];
  readonly after?: ComponentChildren;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <Dialog title={`${title}, shown once`} onClose={onClose}>
      <div class="dialog-form">
        <p>{children}</p>
        {secrets.map(({ label, text, note }) => (
          <div key={label} class="stack-small">
            {note !== undefined && (
              <p>
                <strong>{label}</strong> <span class="muted">{note}</span>
              </p>
            )}
            <CodeBlock text={text} label={label} wrap />
          </div>
        ))}
        {after}
        <footer class="dialog-foot">
          <Button kind="primary" onClick={onClose}>
            I have stored it
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
