import type { EXPLANATION_LANGUAGES } from '../contract/vocabulary.ts';
import type { Decision } from '../risk/decision.ts';
import type { PublicSubject } from '../risk/public-reasons.ts';

export type ExplanationLanguage = (typeof EXPLANATION_LANGUAGES)[number];

interface PersonTexts {
  readonly decisions: Readonly<Record<Decision, string>>;
  readonly reasons: Readonly<Record<PublicSubject, string>>;
  /** If no reason may be named. */
  readonly unnamed: string;
}

/** What a person reads of a decision, in each language. The texts name no threshold, no other person and no rule. */
export const PERSON_TEXTS: Readonly<Record<ExplanationLanguage, PersonTexts>> = {
  en: {
    decisions: {
      ALLOW: 'The request was let through.',
      ALLOW_WATCH: 'The request was let through.',
      SOFT_CHALLENGE: 'An additional check was asked for.',
      REVIEW: 'The request was set aside for a person to look at.',
      BLOCK: 'The request was refused.',
    },
    reasons: {
      attempts: 'There were unusually many attempts in a short time.',
      failures: 'Earlier attempts had failed.',
      connection: 'The internet connection is of a kind that often hides where a request comes from.',
      place: 'The place of the connection did not fit earlier visits or the settings of the device.',
      browser: 'The browser or app gave incomplete or contradictory information.',
      unfamiliar: 'The device, the network or the place was unfamiliar for this account.',
      automation: 'The request resembled that of an automatic program.',
      session: 'The course of the visit was unusual.',
      contact: 'The e-mail address was of a kind that is often used only once.',
      order: 'The order was unusual for a new account.',
      list: 'It had been decided before how to treat this account, device or connection.',
      model: 'A statistical comparison with earlier requests contributed.',
    },
    unnamed: 'Details of this check are not published, so that it cannot be evaded.',
  },
  de: {
    decisions: {
      ALLOW: 'Die Anfrage wurde zugelassen.',
      ALLOW_WATCH: 'Die Anfrage wurde zugelassen.',
      SOFT_CHALLENGE: 'Es wurde eine zusätzliche Prüfung verlangt.',
      REVIEW: 'Die Anfrage wurde zurückgestellt, damit ein Mensch sie ansieht.',
      BLOCK: 'Die Anfrage wurde abgelehnt.',
    },
    reasons: {
      attempts: 'Es gab in kurzer Zeit ungewöhnlich viele Versuche.',
      failures: 'Frühere Versuche waren fehlgeschlagen.',
      connection: 'Die Internetverbindung ist von einer Art, die oft verbirgt, woher eine Anfrage kommt.',
      place: 'Der Ort der Verbindung passte nicht zu früheren Besuchen oder zu den Einstellungen des Geräts.',
      browser: 'Der Browser oder die App machte unvollständige oder widersprüchliche Angaben.',
      unfamiliar: 'Gerät, Netz oder Ort waren für dieses Konto ungewohnt.',
      automation: 'Die Anfrage ähnelte der eines automatischen Programms.',
      session: 'Der Verlauf des Besuchs war ungewöhnlich.',
      contact: 'Die E-Mail-Adresse war von einer Art, die oft nur einmal benutzt wird.',
      order: 'Die Bestellung war für ein neues Konto ungewöhnlich.',
      list: 'Wie dieses Konto, Gerät oder diese Verbindung zu behandeln ist, war schon vorher entschieden.',
      model: 'Ein statistischer Vergleich mit früheren Anfragen trug dazu bei.',
    },
    unnamed: 'Einzelheiten dieser Prüfung werden nicht veröffentlicht, damit sie nicht umgangen werden kann.',
  },
  fr: {
    decisions: {
      ALLOW: 'La demande a été acceptée.',
      ALLOW_WATCH: 'La demande a été acceptée.',
      SOFT_CHALLENGE: 'Une vérification supplémentaire a été demandée.',
      REVIEW: "La demande a été mise de côté pour qu'une personne l'examine.",
      BLOCK: 'La demande a été refusée.',
    },
    reasons: {
      attempts: 'Il y a eu un nombre inhabituel de tentatives en peu de temps.',
      failures: 'Des tentatives précédentes avaient échoué.',
      connection: "La connexion Internet est d'un type qui cache souvent l'origine d'une demande.",
      place: "Le lieu de la connexion ne correspondait pas aux visites précédentes ou aux réglages de l'appareil.",
      browser: "Le navigateur ou l'application a donné des informations incomplètes ou contradictoires.",
      unfamiliar: "L'appareil, le réseau ou le lieu était inhabituel pour ce compte.",
      automation: "La demande ressemblait à celle d'un programme automatique.",
      session: 'Le déroulement de la visite était inhabituel.',
      contact: "L'adresse e-mail est d'un type qui ne sert souvent qu'une fois.",
      order: 'La commande était inhabituelle pour un nouveau compte.',
      list: 'La façon de traiter ce compte, cet appareil ou cette connexion avait déjà été décidée.',
      model: 'Une comparaison statistique avec des demandes précédentes y a contribué.',
    },
    unnamed: "Les détails de ce contrôle ne sont pas publiés, afin qu'il ne puisse pas être contourné.",
  },
  es: {
    decisions: {
      ALLOW: 'La solicitud fue aceptada.',
      ALLOW_WATCH: 'La solicitud fue aceptada.',
      SOFT_CHALLENGE: 'Se pidió una comprobación adicional.',
      REVIEW: 'La solicitud se apartó para que la revise una persona.',
      BLOCK: 'La solicitud fue rechazada.',
    },
    reasons: {
      attempts: 'Hubo un número inusual de intentos en poco tiempo.',
      failures: 'Intentos anteriores habían fallado.',
      connection: 'La conexión a Internet es de un tipo que a menudo oculta el origen de una solicitud.',
      place: 'El lugar de la conexión no coincidía con visitas anteriores o con los ajustes del dispositivo.',
      browser: 'El navegador o la aplicación dio información incompleta o contradictoria.',
      unfamiliar: 'El dispositivo, la red o el lugar no eran habituales para esta cuenta.',
      automation: 'La solicitud se parecía a la de un programa automático.',
      session: 'El desarrollo de la visita fue inusual.',
      contact: 'La dirección de correo es de un tipo que a menudo se usa una sola vez.',
      order: 'El pedido era inusual para una cuenta nueva.',
      list: 'Ya se había decidido antes cómo tratar esta cuenta, este dispositivo o esta conexión.',
      model: 'Contribuyó una comparación estadística con solicitudes anteriores.',
    },
    unnamed: 'Los detalles de este control no se publican, para que no se pueda eludir.',
  },
};
