// A module with types that another imports.
export interface Shape { sides: number }
export const name: string = 'main';
