// Languages of texts about the data, whose own texts have the language of their providers.

export const LANGUAGES = ["en", "fr"] as const;
export type Language = typeof LANGUAGES[number];
