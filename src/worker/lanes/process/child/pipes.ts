/** The pipes of a child, beside the three that every process has; see child-process.ts for the other end. */
export const messageFd = 3;
export const guardFd = 4;
