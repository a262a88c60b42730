/** What the specification says must be refused. Any other exception is a defect of this program. */
export class Refused extends Error {}

export function refuseIf(condition, reason) {
  if (condition) throw new Refused(reason);
}
