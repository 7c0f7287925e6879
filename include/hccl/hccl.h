/**
 * Collectives: communicators, and operations over their ranks. Belay implements this interface on
 * the CPU. A function follows the page of its name in the public API reference; "Page:" gives that
 * page's number where it is known.
 * Errors that are not said with each function: 2 for a null pointer or handle where none may be; 1
 * for a handle whose object is not alive, or no longer, and for a setting that cannot be used; 3
 * when memory is short; 15 before aclInit, after aclFinalize, and for what the runtime refuses.
 * aclGetRecentErrMsg tells more.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_HCCL_HCCL_H_
#define BELAY_HCCL_HCCL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hccl/hccl_types.h"
#include "hccl/hccl_comm_config_init.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes the calling process the meeting point of a new group of ranks, and tells where that is.
 * Bring the bytes to all ranks by whatever way; each calls HcclCommInitRootInfo with them. They
 * hold a secret. One root info serves for one communicator.
 * Errors: 1: a setting that names an interface or ports cannot be used; 8: the system gave no
 * socket; 19: nothing can listen at the address and ports that the settings name.
 * Page: hcclcpp_07_0005
 */
HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);

/**
 * Makes this rank's communicator on the current device, once all nRanks have called it with the
 * same rootInfo, in any order, in any process of the machine or in threads. Waits
 * HCCL_CONNECT_TIMEOUT seconds at most.
 * Errors: 1: rank is not below nRanks, the bytes are no root info, or another rank said something
 * else; 5: BELAY_COLLECTIVE_ENGINE names an engine that is not there; 8: the system gave no socket
 * or thread; 9: ranks are missing; the message names them; 11: nobody is there at the meeting
 * point; 13: a connection brought what cannot be; 15: the thread has no context; 19: nothing can
 * listen at the address and ports that the settings name; 21: another rank ended meanwhile.
 * Page: hcclcpp_07_0006
 */
HcclResult HcclCommInitRootInfo(
    uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm);

/**
 * As HcclCommInitRootInfo, with a configuration, which must have gone through HcclCommConfigInit.
 * Errors: 1: as HcclCommInitRootInfo, or the configuration is not initialised or has a value that
 * is none; 5: BELAY_COLLECTIVE_ENGINE names an engine that is not there; 8: the system gave no
 * socket or thread; 9: ranks are missing; the message names them; 11: nobody is there at the
 * meeting point; 13: a connection brought what cannot be; 15: the thread has no context; 19:
 * nothing can listen at the address and ports that the settings name; 21: another rank ended
 * meanwhile.
 * Page: hcclcpp_07_0007
 */
HcclResult HcclCommInitRootInfoConfig(
    uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, const HcclCommConfig *config,
    HcclComm *comm);

/**
 * As HcclGetRootInfo, for one of several roots: the root infos of all of them go to
 * HcclCommInitRootInfoScalable.
 * Errors: 1: a setting that names an interface or ports cannot be used; 8: the system gave no
 * socket; 19: nothing can listen at the address and ports that the settings name.
 */
HcclResult HcclGetRootInfoScalable(HcclRootInfo *rootInfo);

/**
 * As HcclCommInitRootInfoConfig, with the root infos of nRoots roots, in the same order on all
 * ranks. All ranks meet at the first, which knows a thousand of them in half a second; the others
 * end when their process calls this. reserved is 0.
 * Errors: 1: as HcclCommInitRootInfoConfig, or nRoots is not from 1 to nRanks, or reserved is not
 * 0; 5: BELAY_COLLECTIVE_ENGINE names an engine that is not there; 8: the system gave no socket or
 * thread; 9: ranks are missing; the message names them; 11: nobody is there at the meeting point;
 * 13: a connection brought what cannot be; 15: the thread has no context; 19: nothing can listen at
 * the address and ports that the settings name; 21: another rank ended meanwhile.
 */
HcclResult HcclCommInitRootInfoScalable(
    uint32_t nRanks, uint32_t nRoots, const HcclRootInfo *rootInfoList, uint32_t rank, uint32_t
    reserved, const HcclCommConfig *config, HcclComm *comm);

/**
 * As HcclCommInitRootInfo, with the ranks of a rank table: a JSON file of version 1.0 or 1.2, whose
 * path has at most 4095 bytes.
 * Errors: 1: the file is no rank table, or has no such rank; 5: BELAY_COLLECTIVE_ENGINE names an
 * engine that is not there; 7: the file says that it is being made, or communicators of it are
 * still there; 8: the system gave no socket or thread; 9: ranks are missing; the message names
 * them; 10: the file cannot be read; 11: nobody is there at the meeting point; 13: a connection
 * brought what cannot be; 15: the thread has no context; 19: nothing can listen at the address and
 * ports that the file and the settings name; 21: another rank ended meanwhile.
 * Page: hcclcpp_07_0002
 */
HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm);

/**
 * As HcclCommInitClusterInfo, with a configuration, which must have gone through
 * HcclCommConfigInit.
 * Errors: 1: as HcclCommInitClusterInfo, or the configuration is not initialised or has a value
 * that is none; 5: BELAY_COLLECTIVE_ENGINE names an engine that is not there; 7: the file says that
 * it is being made, or communicators of it are still there; 8: the system gave no socket or thread;
 * 9: ranks are missing; the message names them; 10: the file cannot be read; 11: nobody is there at
 * the meeting point; 13: a connection brought what cannot be; 15: the thread has no context; 19:
 * nothing can listen at the address and ports that the file and the settings name; 21: another rank
 * ended meanwhile.
 * Page: hcclcpp_07_0004
 */
HcclResult HcclCommInitClusterInfoConfig(
    const char *clusterInfo, uint32_t rank, HcclCommConfig *config, HcclComm *comm);

/**
 * Makes a communicator of ndev ranks in this process, rank i on devices[i], and writes the ndev
 * handles to comms. The devices exist from aclInit on; BELAY_DEVICES says how many.
 * Errors: 1: no device, or one twice or that does not exist.
 * Page: hcclcpp_07_0009
 */
HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);

/**
 * Makes a communicator of some ranks of *comm, which is no such part itself: rankIds names them,
 * and a rank's place there is its new rank. Each of them calls it with the same rankIds, subCommId
 * and config, which may be NULL. Where config gives no name it is that of *comm, `_sub_` and
 * subCommId, which must be another one for each part. A rank that is in no part may call it with
 * NULL as rankIds and 0xFFFFFFFF as subCommId: *subComm is NULL then.
 * Errors: 1: *comm is none, subCommRankId is not this rank's place in rankIds, rankIds names a rank
 * twice or that is none, subCommId names a part already, or ranks of the part give other rankIds;
 * 2: rankIds is NULL, and subCommId not 0xFFFFFFFF; 5: *comm is a part of another communicator; 9:
 * ranks are missing; the message names them; 11: the process that made the group's root info has
 * gone; 21: another rank ended meanwhile.
 * Page: hcclcpp_07_0019
 */
HcclResult HcclCreateSubCommConfig(
    HcclComm *comm, uint32_t rankNum, uint32_t *rankIds, uint64_t subCommId, uint32_t subCommRankId,
    HcclCommConfig *config, HcclComm *subComm);

/**
 * Opens a group of calls in this thread, which happen together when HcclGroupEnd closes it:
 * communicators that are made (several ranks by one thread), collectives, or HcclSend and HcclRecv,
 * of which those of a stream get on together. A group has one of the three. Groups may be nested;
 * the outermost counts.
 * Page: hcclcpp_07_0063
 */
HcclResult HcclGroupStart(void);

/**
 * Closes a group, and does what was called in it. What a call of the group would return where it
 * happens at once is returned here, the first error of all.
 * Errors: 1: no group is open in this thread, or a stream of the group was destroyed; 9: ranks are
 * missing; the message names them; 21: another rank ended meanwhile, or has left.
 * Page: hcclcpp_07_0064
 */
HcclResult HcclGroupEnd(void);

/**
 * Ends a communicator; from any thread. The other ranks keep theirs to destroy them, too, and can
 * start no operation that needs this rank.
 * Errors: 20: an operation is under way.
 * Page: hcclcpp_07_0010
 */
HcclResult HcclCommDestroy(HcclComm comm);

/** How many ranks a communicator has. */
HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);

/** This rank's number in a communicator. */
HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);

/**
 * The name of a communicator, at most COMM_NAME_MAX_LENGTH bytes with the end.
 * Page: hcclcpp_07_0015
 */
HcclResult HcclGetCommName(HcclComm comm, char *commName);

/**
 * A capability (HcclCommConfigCapability) is known if it is less than this number. Needs no
 * aclInit.
 * Page: hcclcpp_07_0048
 */
uint32_t HcclGetCommConfigCapability(void);

/**
 * Sets HCCL_DETERMINISTIC (0, 1 or 2) for the process. Results repeat bit for bit whatever it is;
 * where it is not 0, they are the same wherever the ranks are. Needs no aclInit.
 * Errors: 1: no such item or value.
 * Page: hcclcpp_07_0013
 */
HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);

/**
 * What HcclSetConfig or HCCL_DETERMINISTIC set. Needs no aclInit.
 * Errors: 1: no such item.
 */
HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);

/** What a code means; a text that is not to be freed. Needs no aclInit. */
const char *HcclGetErrorString(HcclResult code);

/**
 * HCCL_SUCCESS, or HCCL_E_REMOTE when the communicator has failed: a rank has ended without
 * destroying its communicator, or an operation failed.
 * Page: hcclcpp_07_0035
 */
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);

/**
 * Holds the stream until the streams of all ranks have got there. The calling threads go on.
 * Errors: 21: the communicator has failed, or a rank has left it.
 * Page: hcclcpp_07_0028
 */
HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

/**
 * recvBuf of each rank gets the sum, product, maximum or minimum of the count elements of all. May
 * work in place. Sums of fp16 and bfp16 are made in float, machine by machine and on each in the
 * order of the ranks, so results repeat bit for bit.
 * Errors: 1: no such type or operation, or buffers that are no device memory, too short, overlap in
 * part or are not aligned to the element; 2: a buffer is null and count is not 0; 5: no arithmetic
 * for the type; 21: the communicator has failed, or a rank has left it.
 * Page: hcclcpp_07_0020
 */
HcclResult HcclAllReduce(
    void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op, HcclComm
    comm, aclrtStream stream);

/**
 * As HcclAllReduce, with the result at the root only.
 * Errors: 1: no such type, operation or root, or buffers that are no device memory, too short,
 * overlap in part or are not aligned; 2: a buffer is null and count is not 0; 5: no arithmetic for
 * the type; 21: the communicator has failed, or a rank has left it.
 * Page: hcclcpp_07_0025
 */
HcclResult HcclReduce(
    void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op, uint32_t
    root, HcclComm comm, aclrtStream stream);

/**
 * buf of each rank gets the count elements of the root's.
 * Errors: 1: no such type or root, or a buffer that is no device memory, too short or not aligned;
 * 2: buf is null and count is not 0; 21: the communicator has failed, or a rank has left it.
 */
HcclResult HcclBroadcast(
    void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm, aclrtStream
    stream);

/**
 * recvBuf of each rank gets the sendCount elements of all, in the order of the ranks.
 * Errors: 1: no such type, or buffers that are no device memory, too short, overlap in part or are
 * not aligned; 2: a buffer is null and sendCount is not 0; 21: the communicator has failed, or a
 * rank has left it.
 * Page: hcclcpp_07_0016
 */
HcclResult HcclAllGather(
    void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
    aclrtStream stream);

/**
 * As HcclAllGather with parts of different length: recvCounts and recvDispls are uint64_t for each
 * rank, in elements, read at the call.
 * Errors: 1: sendCount is not this rank's recvCounts, no such type, or buffers that are no device
 * memory, too short, overlap or are not aligned; 2: a buffer is null although there are elements,
 * or an array is; 21: the communicator has failed, or a rank has left it.
 * Page: hcclcpp_07_0050
 */
HcclResult HcclAllGatherV(
    void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts, const void
    *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream);

/**
 * Reduces recvCount elements for each rank, as HcclAllReduce does; rank i gets the part i.
 * Errors: 1: no such type or operation, or buffers that are no device memory, too short, overlap in
 * part or are not aligned; 2: a buffer is null and recvCount is not 0; 5: no arithmetic for the
 * type; 21: the communicator has failed, or a rank has left it.
 * Page: hcclcpp_07_0024
 */
HcclResult HcclReduceScatter(
    void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
    HcclComm comm, aclrtStream stream);

/**
 * As HcclReduceScatter with parts of different length: sendCounts and sendDispls are uint64_t for
 * each rank, in elements, read at the call.
 * Errors: 1: recvCount is not this rank's sendCounts, no such type or operation, or buffers that
 * are no device memory, too short, overlap or are not aligned; 2: a buffer is null although there
 * are elements, or an array is; 5: no arithmetic for the type; 21: the communicator has failed, or
 * a rank has left it.
 * Page: hcclcpp_07_0051
 */
HcclResult HcclReduceScatterV(
    void *sendBuf, const void *sendCounts, const void *sendDispls, void *recvBuf, uint64_t
    recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream);

/**
 * Deals out recvCount elements of the root's sendBuf to each rank. Elsewhere sendBuf has no
 * meaning.
 * Errors: 1: no such type or root, or buffers that are no device memory, too short, overlap in part
 * or are not aligned; 2: a buffer is null and recvCount is not 0; 21: the communicator has failed,
 * or a rank has left it.
 * Page: hcclcpp_07_0029
 */
HcclResult HcclScatter(
    void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root, HcclComm
    comm, aclrtStream stream);

/**
 * Each rank sends sendCount elements to each: rank i's part j becomes rank j's part i.
 * Errors: 1: counts or types of the two sides differ, or buffers are no device memory, too short,
 * overlap or are not aligned; 2: a buffer is null and sendCount is not 0; 21: the communicator has
 * failed, or a rank has left it.
 * Page: hcclcpp_07_0026
 */
HcclResult HcclAlltoAll(
    const void *sendBuf, uint64_t sendCount, HcclDataType sendType, const void *recvBuf, uint64_t
    recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream);

/**
 * As HcclAlltoAll with parts of different length: the arrays are uint64_t for each rank, in
 * elements, read at the call.
 * Errors: 1: the types of the two sides differ, or buffers are no device memory, too short, overlap
 * or are not aligned; 2: a buffer is null although there are elements, or an array is; 21: the
 * communicator has failed, or a rank has left it.
 * Page: hcclcpp_07_0027
 */
HcclResult HcclAlltoAllV(
    const void *sendBuf, const void *sendCounts, const void *sdispls, HcclDataType sendType, const
    void *recvBuf, const void *recvCounts, const void *rdispls, HcclDataType recvType, HcclComm
    comm, aclrtStream stream);

/**
 * As HcclAlltoAllV with parts that lie side by side: sendCountMatrix is uint64_t [ranks][ranks],
 * from and to, the same on all ranks, read at the call.
 * Errors: 1: the types of the two sides differ, the buffers are the same, or they are no device
 * memory, too short, overlap or are not aligned; 2: a buffer is null although there are elements,
 * or the matrix is; 21: the communicator has failed, or a rank has left it.
 * Page: hcclcpp_07_0059
 */
HcclResult HcclAlltoAllVC(
    const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType, const void *recvBuf,
    HcclDataType recvType, HcclComm comm, aclrtStream stream);

/**
 * Sends to a rank, which receives by HcclRecv; messages of a pair go in order. The stream goes on
 * when the other has taken the data.
 * Errors: 1: no such type or rank, this rank itself, or a buffer that is no device memory, too
 * short or not aligned; 2: sendBuf is null and count is not 0; 21: the communicator has failed, or
 * the rank has left it.
 * Page: hcclcpp_07_0031
 */
HcclResult HcclSend(
    void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
    aclrtStream stream);

/**
 * Receives from a rank what it sends by HcclSend.
 * Errors: 1: no such type or rank, this rank itself, or a buffer that is no device memory, too
 * short or not aligned; 2: recvBuf is null and count is not 0; 21: the communicator has failed, or
 * the rank has left it.
 * Page: hcclcpp_07_0032
 */
HcclResult HcclRecv(
    void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
    aclrtStream stream);

/**
 * Several HcclSend and HcclRecv that get on together, one each way for each rank at most.
 * Errors: 1: no item, two to or from one rank, or an item that HcclSend or HcclRecv would refuse;
 * 2: a buffer is null and its count is not 0; 21: the communicator has failed, or a rank has left
 * it.
 * Page: hcclcpp_07_0033
 */
HcclResult HcclBatchSendRecv(
    HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_HCCL_HCCL_H_ */
