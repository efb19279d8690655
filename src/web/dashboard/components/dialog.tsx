import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type ApiFault, toFault } from '../api.ts';
import { Button } from './fields.tsx';
import { Fault } from './state-view.tsx';

/** A modal dialog: the browser holds the focus inside it and closes it by Esc; the focus returns to where it was. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // The element has left the page by then, so closing it would not return the focus.
    return () => {
      if (document.activeElement === document.body) (opener as HTMLElement | null)?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

/**
 * Asks before a write. `children` says what will happen and to how many (the blast radius). Stays open with the problem when the write
 * fails; closes when it succeeds.
 */
export function Confirm({
  title,
  confirm,
  danger = false,
  disabled = false,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  /** The verb on the button: `Block for 30 days`. */
  readonly confirm: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const run = async (): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setFault(toFault(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {children}
        {fault !== null && <Fault fault={fault} />}
        <footer class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={danger ? 'danger' : 'primary'} disabled={isBusy || disabled}>
            {confirm}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
